"""Trees laid out as directories that nobody may write into."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from vvbuild.fetch.store.copying import copy_file, hard_link
from vvbuild.fetch.store.place import FIXED_TIME
from vvbuild.model.tree import Entry, Tree

_SEALED = 0o555
_POSIX = sys.platform != "win32"


def lay_out(
    tree: Tree, directory: Path, where: Callable[[Entry], Path], *, link: bool, sealed: bool = False
) -> None:
    """Put a tree's entries into a new or empty directory.

    ``where`` says where a file's bytes lie. Copies are for their owner's use, unless ``sealed``.
    """
    directory.mkdir(parents=True, exist_ok=True)
    made = {directory}
    for entry in tree.entries:
        path = directory / entry.path
        parent = path if entry.kind == "directory" else path.parent
        if parent not in made:
            parent.mkdir(parents=True, exist_ok=True)
            made.add(parent)
        if entry.kind == "link" and entry.link is not None:
            path.symlink_to(entry.link)
        elif entry.digest is not None:
            source = where(entry)
            if not (link and hard_link(source, path)):
                copy_file(source, path)
                path.chmod(entry.mode & 0o555 if sealed else entry.mode)
                os.utime(path, (FIXED_TIME, FIXED_TIME))


def seal(directory: Path) -> None:
    """Take everybody's right to write into the directories, the given one included last.

    Windows knows no such right of directories; there, only the comparison notices a stranger.
    """
    if not _POSIX:
        return
    for folder, below, _ in os.walk(directory):
        for path in (Path(folder, name) for name in below):
            if not path.is_symlink():
                path.chmod(_SEALED)


def seal_top(directory: Path) -> None:
    """Seal the directory itself: to be done where it lies, since a sealed one cannot be moved.

    One that is gone is being made anew by another process, which seals it, too.
    """
    with suppress(FileNotFoundError):
        if _POSIX and stat.S_IMODE(directory.stat().st_mode) != _SEALED:
            directory.chmod(_SEALED)


def inodes_of(tree: Tree, directory: Path) -> list[int]:
    """The inodes of a checkout's files, 0 for everything else."""
    return [
        0 if entry.digest is None else (directory / entry.path).lstat().st_ino
        for entry in tree.entries
    ]


def is_intact(tree: Tree, directory: Path, inodes: list[int] | None) -> bool:
    """Whether a checkout is what was made: nothing missing, changed or added, by a cheap look."""
    if inodes is None or len(inodes) != len(tree.entries):
        return False
    return next(differences(tree, directory, inodes), None) is None


def differences(
    tree: Tree, directory: Path, inodes: list[int] | None = None
) -> Iterator[tuple[str, str]]:
    """Paths where a directory is not its tree, each with what is wrong there.

    Looks at names, kinds, links, sizes and times, and at inodes where they are given.
    """
    folders = _children(tree)
    noted = inodes or [0] * len(tree.entries)
    wanted = {entry.path: (entry, inode) for entry, inode in zip(tree.entries, noted, strict=True)}
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        expected = set(folders[folder])
        try:
            with os.scandir(directory / folder) as scan:
                members = list(scan)
        except OSError as error:
            yield folder or ".", f"cannot be read ({error.strerror})"
            continue
        for member in members:
            path = f"{folder}/{member.name}" if folder else member.name
            if member.name not in expected:
                yield path, "does not belong there"
                continue
            expected.discard(member.name)
            if path in folders:
                if member.is_dir(follow_symlinks=False):
                    waiting.append(path)
                else:
                    yield path, "is no directory"
            elif (why := _objection(*wanted[path], member)) is not None:
                yield path, why
        for name in sorted(expected):
            yield f"{folder}/{name}" if folder else name, "is missing"


def _children(tree: Tree) -> dict[str, set[str]]:
    """Every directory of a tree with the names in it."""
    folders: dict[str, set[str]] = {"": set()}
    for entry in tree.entries:
        path = entry.path
        if entry.kind == "directory":
            folders.setdefault(path, set())
        while path:
            parent, _, name = path.rpartition("/")
            known = parent in folders
            folders.setdefault(parent, set()).add(name)
            if known:
                # Its own parents were entered together with it.
                break
            path = parent
    return folders


def _objection(entry: Entry, inode: int, member: os.DirEntry[str]) -> str | None:
    try:
        facts = member.stat(follow_symlinks=False)
        leads = Path(member.path).readlink().as_posix() if member.is_symlink() else None
    except OSError as error:
        # Another process may be making a damaged checkout anew while this one looks at it.
        return f"cannot be looked at ({error.strerror})"
    if entry.link is not None:
        return None if leads == entry.link else "is not the link that it was"
    if not stat.S_ISREG(facts.st_mode):
        return "is no file"
    if facts.st_size != entry.size:
        return "has another size"
    if facts.st_mtime != FIXED_TIME:
        return "was touched"
    # Windows' listing does not tell inodes, which Path.stat would ask for file by file.
    if inode and facts.st_ino and facts.st_ino != inode:
        return "was replaced"
    if _POSIX and entry.kind == "program" and not facts.st_mode & 0o111:
        return "lost its execute bits"
    return None
