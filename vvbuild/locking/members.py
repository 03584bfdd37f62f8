"""What an archive holds, for a lock that names it file by file."""

from __future__ import annotations

import os
from pathlib import Path

from vvbuild.errors import ArchiveLayoutError
from vvbuild.fetch.store import walk
from vvbuild.fetch.unpack import unpack
from vvbuild.manifest.pins import PinnedArtifact
from vvbuild.model.locked import Member
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file

# Windows has no execute bits, and its links are others: what it unpacked would be told wrongly.
CAN_LIST = os.name != "nt"
# Those of the core's downloader have some dozens. A lock is a file of a few megabytes at most.
_MOST = 500


def list_members(
    archive: Path, room: Path, pin: PinnedArtifact, cancel: Cancel
) -> dict[str, Member]:
    """Unpack an archive into ``room``, a new directory, and note every file and link.

    Paths are those in the component's tree. An empty directory is no member: what a downloader
    leaves is judged by its files, and whether it makes a directory that has none does not matter.
    Raises :class:`~vvbuild.errors.HostileArchiveError` and :class:`ArchiveLayoutError`, also for
    more members than a lock should have.
    """
    count = unpack(archive, room, strip=pin.unpack == "strip-top", cancel=cancel)
    if count > _MOST:
        raise ArchiveLayoutError(
            f"{pin.name} has {count} members; a lock lists {_MOST} of an archive at most."
        )
    found = {}
    for path, relative, kind in walk(room):
        where = f"{pin.into}/{relative}" if pin.into else relative
        if kind == "link":
            found[where] = Member(link=path.readlink().as_posix())
        elif kind != "directory":
            digest, size = hash_file(path, cancel), path.stat().st_size
            found[where] = Member(sha256=digest.hex, size=size, program=kind == "program")
    return found
