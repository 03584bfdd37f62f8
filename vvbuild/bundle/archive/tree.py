"""A bundle directory as what an archive takes: ordered, and with nothing of the host.

Owners, inode numbers, times and the finer file modes differ between two builds of the same
bundle, so they are left out here and no writer can pick them up.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from vvbuild.errors import UsageError
from vvbuild.fetch.store import walk
from vvbuild.model.tree import Entry, EntryKind, Tree

_TYPES = {"link": stat.S_IFLNK | 0o777, "directory": stat.S_IFDIR | 0o755}


def scan(directory: Path) -> Tree:
    """Everything below ``directory``, files with their sizes and without digests.

    Raises :class:`UsageError` for what no archive of ours may hold: a link that 7-Zip would not
    unpack, a device or socket, a name that is not Unicode.
    """
    try:
        tree = Tree.of(_entry(*found) for found in walk(directory))
    except ValueError as error:
        raise UsageError(f"This bundle cannot be packed: {error}.") from error
    _check_links(tree)
    return tree


def unix_mode(entry: Entry) -> int:
    """Type and permissions as a Unix ``st_mode``; one of four values."""
    return _TYPES.get(entry.kind, stat.S_IFREG | entry.mode)


def _entry(path: Path, name: str, kind: EntryKind) -> Entry:
    _check_text(name)
    if kind == "link":
        target = path.readlink().as_posix()
        _check_text(target)
        return Entry(name, kind, link=target)
    return Entry(name, kind, size=0 if kind == "directory" else path.stat().st_size)


def _check_text(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the name {name!r} is not Unicode") from None


def _check_links(tree: Tree) -> None:
    """Refuse links that 7-Zip (26.03, and the editor's 26.01) takes for an attack.

    The editor unpacks with it: "Dangerous link path was ignored", exit status 2, and the engine
    is not installed. It wants links that point downwards, and not at or through another link.
    """
    links = {entry.path: entry.link for entry in tree.entries if entry.link is not None}
    for name, target in links.items():
        reason = _objection(name, target, links)
        if reason is not None:
            raise UsageError(
                f"This bundle cannot be packed: the link {name!r} {reason}, {target!r}.",
                hint="The editor's 7-Zip would not unpack it. Put the file itself there, or let "
                "the link point at a real file in its own folder or below.",
            )


def _objection(name: str, target: str, links: Mapping[str, str]) -> str | None:
    pure = PurePosixPath(target)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        return "does not point downwards"
    way = PurePosixPath(name).parent
    for part in pure.parts:
        way /= part
        if str(way) in links:
            return f"leads over the link {str(way)!r}"
    return None
