"""Read a whole store, and hold everything in it against its name."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from vvbuild.fetch.store.checkouts import differences
from vvbuild.fetch.store.core import Store
from vvbuild.fetch.store.place import FIXED_TIME, named, require_store
from vvbuild.model.digest import Digest
from vvbuild.model.events import Emit, Progress, silent
from vvbuild.model.size import ByteSize
from vvbuild.model.tree import Entry
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file, remove_tree

FaultKind = Literal["file", "tree", "record", "checkout"]
_FILE_NAME = re.compile(r"([0-9a-f]{64})(\.x)?")
_MOST_THREADS = 4
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Fault:
    """An entry that is not what its name says. ``path`` is below the store's root."""

    kind: FaultKind
    path: str
    why: str
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Verified:
    """What was looked at, the bytes that were read, and what is wrong."""

    root: Path
    files: int
    size: ByteSize
    trees: int
    records: int
    checkouts: int
    faults: tuple[Fault, ...]


def verify_store(
    store: Store, *, fix: bool = False, emit: Emit = silent, cancel: Cancel | None = None
) -> Verified:
    """Read every file of the store and compare everything with what it must be.

    A file must have the bytes that its name promises; a tree must be the list that its name
    promises, of files that are there and right; a record must name such a tree; a checkout must
    hold what its tree says and nothing else. With ``fix``, what is broken is removed: the store
    is a cache, and the next run fetches or makes it again. Without, nothing is written.

    Raises :class:`UsageError` for a directory that is no store.
    """
    if not store.base.is_dir() and not store.root.exists():
        return Verified(store.root, 0, ByteSize(0), 0, 0, 0, ())
    require_store(store.root, "nothing was read")
    with named("verify the store"):
        return _Verifying(store, fix, emit, Cancel() if cancel is None else cancel).run()


class _Verifying:
    def __init__(self, store: Store, fix: bool, emit: Emit, cancel: Cancel) -> None:
        self._store = store
        self._fix = fix
        self._emit = emit
        self._cancel = cancel
        self._faults: list[Fault] = []
        # The inodes of files that are right, by their place: a checkout shares them.
        self._right: dict[Path, int] = {}
        self._read = 0

    def run(self) -> Verified:
        # First what refers, then what is referred to: other processes may be adding, and they
        # begin with the files.
        folders = _members(self._store.base / "checkouts")
        lists = {part: _lists(self._store.base / part) for part in ("records", "trees")}
        files = self._files()
        trees = {path.stem: self._tree(path) for path in lists["trees"]}
        for path in lists["records"]:
            self._record(path, trees)
        for folder in folders:
            self._checkout(folder, trees)
        counts = (len(trees), len(lists["records"]), len(folders))
        return Verified(self._store.root, files, ByteSize(self._read), *counts, (*self._faults,))

    def _fault(self, kind: FaultKind, path: Path, why: str) -> None:
        if self._fix and kind == "checkout":
            with self._store.checkout_lock(path.name):
                remove_tree(path)
        elif self._fix:
            remove_tree(path)
        shown = path.relative_to(self._store.root).as_posix()
        self._faults.append(Fault(kind, shown, why, removed=self._fix))

    # Files

    def _files(self) -> int:
        paths = [
            path for folder in _members(self._store.base / "files") for path in _members(folder)
        ]
        total = sum(_size(path) for path in paths)
        workers = min(_MOST_THREADS, os.cpu_count() or 1)
        with ThreadPoolExecutor(workers, "vvbuild-verify") as pool:
            rest = iter(paths)
            while batch := list(islice(rest, 64)):
                for path, why in zip(batch, pool.map(self._objection, batch), strict=True):
                    if why is not None:
                        self._fault("file", path, why)
                    self._read += _size(path)
                self._emit(Progress("verify", min(self._read, total), total))
        return len(paths)

    def _objection(self, path: Path) -> str | None:
        self._cancel.check()
        name = _FILE_NAME.fullmatch(path.name)
        if name is None or path.parent.name != path.name[:2]:
            return "its name is no digest"
        try:
            facts = path.lstat()
            if not stat.S_ISREG(facts.st_mode):
                return "it is no file"
            if hash_file(path, self._cancel).hex != name[1]:
                return "its bytes are not those of its name"
        except FileNotFoundError:
            # Another process has dropped it.
            return None
        complaint = _state_objection(facts, program=name[2] is not None)
        self._right[path] = facts.st_ino
        if complaint is not None and self._fix:
            path.chmod(0o555 if name[2] else 0o444)
            os.utime(path, (FIXED_TIME, FIXED_TIME))
        return None

    # Lists

    def _tree(self, path: Path) -> bool:
        self._cancel.check()
        try:
            digest = Digest(path.stem)
        except ValueError:
            self._fault("tree", path, "its name is no digest")
            return False
        tree = self._store.read_tree(digest)
        if tree is None:
            self._fault("tree", path, "it is not the list of its name")
            return False
        bad = [entry.path for entry in tree.entries if not self._is_right(entry)]
        if bad:
            self._fault("tree", path, f"files are missing or wrong: {_some(bad)}")
        return not bad

    def _is_right(self, entry: Entry) -> bool:
        if entry.digest is None:
            return True
        path = self._store.file_path(entry.digest, entry.kind)
        if path not in self._right:
            # Added since the files were listed.
            if not path.is_file() or hash_file(path, self._cancel) != entry.digest:
                return False
            self._right[path] = path.stat().st_ino
        return True

    def _record(self, path: Path, trees: dict[str, bool]) -> None:
        try:
            tree = msgspec.json.decode(path.read_bytes(), type=dict[str, object]).get("tree")
        except FileNotFoundError:
            return
        except (msgspec.DecodeError, RecursionError):
            self._fault("record", path, "it cannot be read")
            return
        if not isinstance(tree, str) or not trees.get(tree, False):
            self._fault("record", path, "what it names is missing or wrong")

    # Checkouts

    def _checkout(self, folder: Path, trees: dict[str, bool]) -> None:
        self._cancel.check()
        try:
            tree = self._store.read_tree(Digest(folder.name))
        except ValueError:
            tree = None
        if tree is None or not trees.get(folder.name, True):
            self._fault("checkout", folder, "its tree is missing or wrong")
            return
        wrong = [f"{path} {why}" for path, why in differences(tree, folder)]
        wrong += [
            f"{entry.path} has other bytes"
            for entry in tree.entries
            if entry.digest is not None and not self._shares(entry, folder / entry.path)
        ]
        if wrong:
            self._fault("checkout", folder, _some(wrong))

    def _shares(self, entry: Entry, path: Path) -> bool:
        """Whether a file is a link to one that was read, or has the same bytes."""
        assert entry.digest is not None
        try:
            inode = path.lstat().st_ino
            if self._right.get(self._store.file_path(entry.digest, entry.kind)) == inode:
                return True
            return hash_file(path, self._cancel) == entry.digest
        except OSError:
            # Missing, or no file: that was said already.
            return True


def _state_objection(facts: os.stat_result, *, program: bool) -> str | None:
    """What is wrong with a file whose bytes are right. It is mended, and no fault."""
    if facts.st_mtime != FIXED_TIME:
        return "its time is another"
    if sys.platform != "win32" and facts.st_mode & 0o777 != (0o555 if program else 0o444):
        return "its mode is another"
    return None


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _lists(part: Path) -> list[Path]:
    return [
        path for folder in _members(part) for path in _members(folder) if path.suffix == ".json"
    ]


def _members(directory: Path) -> list[Path]:
    """What lies in a directory, sorted; beginnings of files that a killed process left are not."""
    return sorted(_visible(directory.iterdir())) if directory.is_dir() else []


def _visible(paths: Iterable[Path]) -> Iterator[Path]:
    return (path for path in paths if not path.name.startswith("."))


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
