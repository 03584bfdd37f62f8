"""What the files of a release are called.

The names are those that VOICEVOX ENGINE's own releases have used so far and that the editor
and its CI look for (``build-engine.yml`` of the engine, ``download-engine`` of the editor):

- ``{stem}.vvpp``, or ``{stem}.001.vvppp``, ``{stem}.002.vvppp`` … when it was cut,
- ``{stem}.7z.001`` … even when there is one part only,
- ``{stem}.vvpp.txt`` and ``{stem}.7z.txt``: the names of the parts, one a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vvbuild.errors import UsageError
from vvbuild.model.artifact import check_file_name
from vvbuild.model.digest import Digest
from vvbuild.model.release import ArchiveKind
from vvbuild.model.size import ByteSize

FileKind = Literal["vvpp", "7z", "list"]

# Upstream's part size. GitHub refuses a release asset of 2 GiB, and takes one of a byte less.
VOLUME_SIZE = ByteSize(1900 << 20)
ASSET_LIMIT = ByteSize(2 << 30)

_VVPP_PART = re.compile(r"(?P<stem>.+)\.(?P<number>[0-9]+)\.vvppp")


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """One file that belongs to a release: a whole archive, a part of one, or a list of parts."""

    path: Path
    size: ByteSize
    sha256: Digest
    kind: FileKind


def check_stem(stem: str) -> str:
    """Return ``stem`` if every name made of it can be a file's name on every system.

    Raises :class:`UsageError` otherwise.
    """
    try:
        check_file_name(stem)
        check_file_name(f"{stem}.0001.vvppp")
    except ValueError as error:
        raise UsageError(f"An archive cannot be named {stem!r}: {error}.") from error
    return stem


def check_volume_size(size: int) -> int:
    """Return ``size`` (bytes) if a part of that size can be uploaded to a release.

    Raises :class:`UsageError` otherwise.
    """
    if not 1 <= size < ASSET_LIMIT:
        raise UsageError(
            f"A part cannot have {int(size)} bytes: GitHub takes release files from 1 to "
            f"{int(ASSET_LIMIT) - 1} bytes.",
            hint=f"Upstream's parts have {VOLUME_SIZE} ({int(VOLUME_SIZE)} bytes).",
        )
    return size


def vvpp_name(stem: str) -> str:
    """The name of a ``.vvpp`` in one piece."""
    return f"{stem}.vvpp"


def vvpp_part_name(stem: str, number: int) -> str:
    """The name of part ``number`` (from 1) of a ``.vvpp`` that was cut."""
    return f"{stem}.{number:03d}.vvppp"


def seven_zip_part_name(stem: str, number: int) -> str:
    """The name of part ``number`` (from 1) of a ``.7z``, as 7-Zip's ``-v`` gives it."""
    return f"{stem}.7z.{number:03d}"


def list_name(stem: str, kind: ArchiveKind) -> str:
    """The name of the file that lists an archive's parts."""
    return f"{stem}.{kind}.txt"


def list_text(names: Iterable[str]) -> str:
    """What the file that lists the parts holds: their names in order, one a line."""
    return "".join(f"{name}\n" for name in names)


def parse_vvpp_part(name: str) -> tuple[str, int] | None:
    """The stem and number of a ``.NNN.vvppp``; ``None`` for every other name."""
    match = _VVPP_PART.fullmatch(name)
    return (match["stem"], int(match["number"])) if match else None
