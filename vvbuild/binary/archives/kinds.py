"""What kind of archive a file is, by its bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from vvbuild.errors import HostileArchiveError

Kind = Literal["zip", "7z", "tar", "gz", "xz", "bz2", "zst"]
_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"\x1f\x8b", "gz"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bz2"),
    (b"\x28\xb5\x2f\xfd", "zst"),
)


def kind_of(archive: Path) -> Kind:
    """The kind of an archive; ``gz``, ``xz``, ``bz2`` and ``zst`` are packed tars.

    Raises :class:`HostileArchiveError` for what is none.
    """
    with archive.open("rb") as stream:
        head = stream.read(512)
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head[257:262] == b"ustar":
        return "tar"
    if head.startswith((b"PK\x07\x08", b"PK00PK")):
        what = "is one part of a zip that is split into several files"
    else:
        what = "is neither a zip, a 7z nor a tar that can be unpacked"
    raise HostileArchiveError(
        f"{archive.name} {what}.", context={"archive": archive, "first bytes": head[:8].hex(" ")}
    )
