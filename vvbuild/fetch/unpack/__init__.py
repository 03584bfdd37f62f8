"""Archives onto disk, without trusting a word of them.

The result depends on the archive's bytes and the arguments alone: files have mode 755 or 644
and one fixed time, directories 755, whatever the umask, the host and the archive's owner say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from vvbuild.errors import HostileArchiveError, OutputNotOursError, from_os_error
from vvbuild.fetch.store import FIXED_TIME
from vvbuild.fetch.unpack.limits import UnpackLimits
from vvbuild.fetch.unpack.names import Selection
from vvbuild.fetch.unpack.tar import unpack_tar
from vvbuild.fetch.unpack.writer import TreeWriter
from vvbuild.fetch.unpack.zip import unpack_zip
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import remove_tree

__all__ = ["UnpackLimits", "unpack"]


def unpack(
    archive: Path,
    dest: Path,
    *,
    limits: UnpackLimits | None = None,
    strip: int = 0,
    only: Callable[[str], bool] | None = None,
    executables: Collection[str] = (),
    mtime: int = FIXED_TIME,
    cancel: Cancel | None = None,
) -> int:
    """Unpack a zip (a wheel), a tar or a gzipped tar into ``dest``; the kind is told by its bytes.

    ``dest`` is made, or is an empty directory. ``strip`` drops that many leading directories of
    every name, and members that lie above. ``only`` chooses members by the name that is left;
    ``executables`` names (the same way) files that get mode 755 though the archive does not say
    so. ``mtime`` is the time of everything, in seconds since 1970; by default 1980-01-02.

    Returns the number of files and links. Raises :class:`HostileArchiveError` naming the member
    that breaks a rule, and for damaged archives; then ``dest`` is as empty as it was before.
    """
    cancel = Cancel() if cancel is None else cancel
    fresh = not dest.exists()
    selection = Selection(archive.name, strip, only, frozenset(executables))
    try:
        if not fresh and any(dest.iterdir()):
            raise OutputNotOursError(
                f"{dest} is not empty; an archive is unpacked into a directory of its own."
            )
        dest.mkdir(parents=True, exist_ok=True)
        writer = TreeWriter(dest, mtime)
        try:
            run = unpack_zip if _is_zip(archive) else unpack_tar
            run(archive, writer, selection, limits or UnpackLimits(), cancel)
            writer.finish()
        except BaseException:
            remove_tree(dest)
            if not fresh:
                dest.mkdir()
            raise
    except OSError as error:
        raise from_os_error(error, f"unpack {archive.name}") from error
    return writer.count


def _is_zip(archive: Path) -> bool:
    with archive.open("rb") as stream:
        head = stream.read(512)
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return True
    if head[:2] == b"\x1f\x8b" or head[257:262] == b"ustar":
        return False
    raise HostileArchiveError(
        f"{archive.name} is neither a zip nor a tar that can be unpacked.",
        context={"archive": archive, "first bytes": head[:8].hex(" ")},
    )
