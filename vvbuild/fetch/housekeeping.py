"""Care of the store: what fills it, and how to be rid of all of it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from vvbuild.fetch.store import Store
from vvbuild.fetch.store.place import named, require_store
from vvbuild.fetch.store.presence import alone, others
from vvbuild.model.size import ByteSize
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import remove_tree


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the store: how many files it holds, and the bytes that only it holds."""

    name: str
    files: int
    size: ByteSize


@dataclass(frozen=True, slots=True)
class Usage:
    """What fills the store; ``size`` counts hard links once.

    ``free`` is what its disk has left, ``users`` the other processes that work with it now.
    """

    root: Path
    parts: tuple[Part, ...]
    size: ByteSize
    free: ByteSize | None = None
    users: int = 0


def measure(store: Store) -> Usage:
    """Count files and bytes. Parts that share bytes by hard links count them once."""
    seen: set[tuple[int, int]] = set()
    parts = []
    if store.base.is_dir():
        # `files` first: checkouts are links into it.
        names = sorted(store.base.iterdir(), key=lambda path: (path.name != "files", path.name))
        parts = [_measure(path, seen) for path in names if path.is_dir()]
    size = ByteSize(sum(part.size for part in parts))
    return Usage(store.root, tuple(parts), size, _free(store.root), others(store.base))


def clean(store: Store, cancel: Cancel | None = None) -> Usage:
    """Delete the store's content; returns what it was.

    Raises :class:`UsageError` for a directory without our tag, and while another vvbuild works.
    """
    if not store.root.exists():
        return Usage(store.root, (), ByteSize(0))
    require_store(store.root, "nothing was deleted")
    usage = measure(store)
    with named("clean the store"):
        if store.base.is_dir():
            store.prepare()
            usage = measure(store)
            with alone(store.base, Cancel() if cancel is None else cancel):
                remove_tree(store.base)
            store.leave()
    return usage


def _free(root: Path) -> ByteSize | None:
    try:
        return ByteSize(shutil.disk_usage(root).free)
    except OSError:
        return None


def _measure(directory: Path, seen: set[tuple[int, int]]) -> Part:
    files = size = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                facts = Path(folder, name).lstat()
            except FileNotFoundError:
                continue
            files += 1
            if (facts.st_dev, facts.st_ino) not in seen:
                seen.add((facts.st_dev, facts.st_ino))
                size += facts.st_size
    return Part(directory.name, files, ByteSize(size))
