"""Archives onto disk, without trusting a word of them.

The result depends on the archive's bytes and the arguments alone: files have mode 755 or 644
and one fixed time, directories 755, whatever the umask, the host and the archive's owner say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from vvbuild.binary.archives.kinds import kind_of
from vvbuild.binary.archives.limits import UnpackLimits
from vvbuild.errors import OutputNotOursError, from_os_error
from vvbuild.fetch.store import FIXED_TIME
from vvbuild.fetch.unpack.names import Selection
from vvbuild.fetch.unpack.sevenzip import unpack_7z
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
    strip: bool = False,
    only: Callable[[str], bool] | None = None,
    members: Sequence[str] = (),
    executables: Collection[str] = (),
    mtime: int = FIXED_TIME,
    seven_zip: Path | None = None,
    cancel: Cancel | None = None,
) -> int:
    """Unpack a zip (a wheel), a 7z or a tar into ``dest``; the kind is told by its bytes.

    A tar may be packed with gzip, xz, bzip2 or Zstandard. ``dest`` is made, or is an empty
    directory. ``strip`` leaves out the one folder at the archive's top. ``members`` are globs
    (``*`` within one folder, ``**`` through all), each of which must match something, and
    ``only`` chooses by a function; both see the name that is left. ``executables`` names (the
    same way) files that get mode 755 though the archive does not say so. ``mtime`` is the time
    of everything, in seconds since 1970; by default 1980-01-02. ``seven_zip`` is the program
    that reads 7z archives (and, before Python 3.14, Zstandard).

    Returns the number of files and links. Raises :class:`HostileArchiveError` naming the member
    that breaks a rule, and for damaged archives; :class:`ArchiveLayoutError` for a glob that
    matches nothing, and for what ``strip`` cannot be done to. Then ``dest`` is as empty as it
    was before.
    """
    cancel = Cancel() if cancel is None else cancel
    fresh = not dest.exists()
    selection = Selection(
        archive.name, strip=strip, only=only, members=members, executables=frozenset(executables)
    )
    try:
        if not fresh and any(dest.iterdir()):
            raise OutputNotOursError(
                f"{dest} is not empty; an archive is unpacked into a directory of its own."
            )
        dest.mkdir(parents=True, exist_ok=True)
        writer = TreeWriter(dest, mtime)
        try:
            _run(archive, writer, selection, limits or UnpackLimits(), cancel, seven_zip)
            selection.finish()
            writer.finish()
        except BaseException:
            remove_tree(dest)
            if not fresh:
                dest.mkdir()
            raise
    except OSError as error:
        raise from_os_error(error, f"unpack {archive.name}") from error
    return writer.count


def _run(
    archive: Path,
    writer: TreeWriter,
    selection: Selection,
    limits: UnpackLimits,
    cancel: Cancel,
    seven_zip: Path | None,
) -> None:
    kind = kind_of(archive)
    if kind == "zip":
        unpack_zip(archive, writer, selection, limits, cancel)
    elif kind == "7z":
        unpack_7z(archive, writer, selection, limits, cancel, seven_zip)
    else:
        unpack_tar(archive, kind, writer, selection, limits, cancel, seven_zip)
