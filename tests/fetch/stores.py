"""Stores for tests, and ways to harm them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from vvbuild.fetch.store import FIXED_TIME, Store, walk
from vvbuild.model.digest import Digest
from vvbuild.model.tree import Tree
from vvbuild.runtime.cancel import Cancel

MEMBERS: dict[str, object] = {
    "a.txt": b"one",
    "bin/run": (b"#!/bin/sh\n",),
    "link": "bin/run",
    "empty": None,
    "deep/er/音声.vvm": b"voice",
}


def spread(root: Path, members: dict[str, object]) -> Path:
    """Lay out a directory: bytes are files, a tuple a program, text a link, ``None`` a folder."""
    root.mkdir(parents=True)
    for name, content in members.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir()
        elif isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content[0] if isinstance(content, tuple) else content)
            path.chmod(0o755 if isinstance(content, tuple) else 0o644)
    return root


def read(directory: Path) -> dict[str, object]:
    """What :func:`spread` would have laid out."""
    found: dict[str, object] = {}
    for path, relative, kind in walk(directory):
        if kind == "directory":
            found[relative] = None
        elif kind == "link":
            found[relative] = str(path.readlink())
        else:
            data = path.read_bytes()
            found[relative] = (data,) if kind == "program" else data
    return found


def keep(store: Store, number: int, members: dict[str, object]) -> Tree:
    """What a step does: put a tree into the store, remember it, and lay it out."""
    with store.scratch() as scratch:
        tree = store.add_tree(spread(scratch / "out", members), Cancel())
    store.write_record(key(number), {"step": f"step {number}", "tree": tree.digest.hex})
    store.checkout(tree)
    return tree


def key(number: int) -> Digest:
    """The key of a step."""
    return Digest.of_json(["step", number])


def stored(store: Store, data: bytes) -> Path:
    """Where bytes lie in a store."""
    return store.file_path(Digest.of_bytes(data))


def poison(path: Path) -> None:
    """Change one bit of a file, in place, and leave no trace but in its bytes."""
    mode = stat.S_IMODE(path.stat().st_mode)
    path.chmod(0o644)
    with path.open("r+b") as stream:
        first = stream.read(1)
        stream.seek(0)
        stream.write(bytes([first[0] ^ 1]))
    path.chmod(mode)
    os.utime(path, (FIXED_TIME, FIXED_TIME))


def replace(path: Path, data: bytes) -> None:
    """Put another file in a file's place, with its time and mode, as editors do."""
    other = path.with_name("other")
    folder = path.parent
    mode = stat.S_IMODE(folder.stat().st_mode)
    folder.chmod(0o755)
    other.write_bytes(data)
    other.chmod(stat.S_IMODE(path.stat().st_mode))
    os.utime(other, (FIXED_TIME, FIXED_TIME))
    other.replace(path)
    folder.chmod(mode)


def counting(monkeypatch: object, module: str) -> Callable[[], int]:
    """Count how many files a module hashes from now on."""
    from vvbuild.runtime import files

    count = 0

    def hash_file(path: Path, cancel: Cancel | None = None) -> Digest:
        nonlocal count
        count += 1
        return files.hash_file(path, cancel)

    monkeypatch.setattr(f"{module}.hash_file", hash_file)  # type: ignore[attr-defined]
    return lambda: count
