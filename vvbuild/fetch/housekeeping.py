"""Care of the store."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from vvbuild.errors import UsageError
from vvbuild.fetch.store import FORMAT, Store
from vvbuild.model.size import ByteSize
from vvbuild.runtime.files import remove_tree


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the store: how many files it holds, and the bytes that only it holds."""

    name: str
    files: int
    size: ByteSize


@dataclass(frozen=True, slots=True)
class Usage:
    """What fills the store; ``size`` counts hard links once."""

    root: Path
    parts: tuple[Part, ...]
    size: ByteSize


def measure(store: Store) -> Usage:
    """Count files and bytes. Parts that share bytes by hard links count them once."""
    seen: set[tuple[int, int]] = set()
    parts = []
    if store.base.is_dir():
        # Sorted so that `checkouts`, which are links into `files`, come after nothing else does.
        names = sorted(store.base.iterdir(), key=lambda path: (path.name != "files", path.name))
        parts = [_measure(path, seen) for path in names if path.is_dir()]
    return Usage(store.root, tuple(parts), ByteSize(sum(part.size for part in parts)))


def clean(store: Store) -> Usage:
    """Delete the store's content; returns what it was.

    Raises :class:`UsageError` for a directory without our tag, and while another vvbuild works.
    """
    if not store.root.exists():
        return Usage(store.root, (), ByteSize(0))
    if not (store.root / "CACHEDIR.TAG").is_file():
        raise UsageError(
            f"{store.root} has no CACHEDIR.TAG: it is not a store, and nothing was deleted.",
            hint="Set VVBUILD_CACHE_DIR to the store that is meant.",
        )
    if store.base.is_dir():
        store.prepare()
        busy = sorted((store.base / "work").iterdir())
        if busy:
            raise UsageError(
                "Another vvbuild is working in this store; nothing was deleted.",
                context={"store": store.root},
                hint="Wait until it has finished.",
            )
    usage = measure(store)
    remove_tree(store.root / FORMAT)
    return usage


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
