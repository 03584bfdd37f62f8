"""Directories read in a fixed order, and files laid out as links, clones or copies."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from vvbuild.model.tree import EntryKind

# Linux's ioctl that makes one file share another's blocks (ioctl_ficlone(2)).
_FICLONE = 0x40049409


def walk(directory: Path) -> Iterator[tuple[Path, str, EntryKind]]:
    """Yield every file, link and empty directory below, in a fixed order.

    Raises ``ValueError`` for devices, sockets and pipes: no tree of ours has them.
    """
    with os.scandir(directory) as scan:
        members = sorted(scan, key=lambda member: os.fsencode(member.name))
    for member in members:
        path = Path(member.path)
        if member.is_symlink():
            yield path, member.name, "link"
        elif member.is_dir():
            empty = True
            for below, relative, kind in walk(path):
                empty = False
                yield below, f"{member.name}/{relative}", kind
            if empty:
                yield path, member.name, "directory"
        else:
            mode = member.stat().st_mode
            if not stat.S_ISREG(mode):
                raise ValueError(f"neither a file nor a directory: {path}")
            yield path, member.name, "program" if mode & 0o111 else "file"


def link_or_copy(source: Path, destination: Path) -> None:
    """A hard link where it can be, else a copy with the mode. Links are copied as links."""
    if source.is_symlink():
        destination.symlink_to(source.readlink())
    elif not hard_link(source, destination):
        copy_file(source, destination)
        destination.chmod(0o755 if source.stat().st_mode & 0o111 else 0o644)


def copy_file(source: Path, destination: Path) -> None:
    """Clone where the file system can share the bytes, copy elsewhere.

    Raises ``FileExistsError`` rather than write into what is there: it may be a hard link into
    the store.
    """
    if os.path.lexists(destination):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(destination))
    if not _clone(source, destination):
        shutil.copyfile(source, destination)


def hard_link(source: Path, destination: Path) -> bool:
    """Give a file a second name; ``False`` where that cannot be."""
    try:
        os.link(source, destination)
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError:
        # Another disk, a file system without hard links, or too many links to one file.
        return False
    return True


def _clone(source: Path, destination: Path) -> bool:
    if sys.platform != "linux":
        return False
    import fcntl

    with source.open("rb") as reader, destination.open("wb") as writer:
        try:
            fcntl.ioctl(writer.fileno(), _FICLONE, reader.fileno())
        except OSError:
            return False
    return True
