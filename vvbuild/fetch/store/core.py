"""The store itself."""

from __future__ import annotations

import os
import sys
import uuid
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from vvbuild.errors import IntegrityError, StoreCorruptError
from vvbuild.fetch.store.checkouts import inodes_of, is_intact, lay_out, seal, seal_top
from vvbuild.fetch.store.copying import walk
from vvbuild.fetch.store.place import FIXED_TIME, FORMAT, make_place, named
from vvbuild.fetch.store.presence import enter, hold, leave, lock_at, try_to_hold
from vvbuild.fetch.store.stamps import Stamps, touch
from vvbuild.model.digest import Digest
from vvbuild.model.tree import Entry, EntryKind, Tree
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file, remove_tree, write_atomically

if TYPE_CHECKING:
    from filelock import FileLock


class Store:
    """Files by SHA-256, trees by digest, records by step key. Safe for many processes.

    A disk that is full, or a store that may not be written, is a typed error of every method.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.base = root / FORMAT
        self._stamps = Stamps(self.base)
        self._presence: weakref.finalize[[FileLock], Store] | None = None
        self._read: dict[Path, tuple[int, ...]] = {}

    def prepare(self) -> None:
        """Make the directories, sweep what processes that died have left, and be a user.

        From here on until this object is gone, nobody prunes or cleans the store.
        """
        with named(f"prepare the store in {self.root}"):
            while self._presence is None:
                make_place(self.root)
                try:
                    self._presence = weakref.finalize(self, leave, enter(self.base))
                except FileNotFoundError:
                    # Somebody cleaned the store at this very moment; it is made anew.
                    continue
            make_place(self.root)
            self._sweep()

    def leave(self) -> None:
        """Be a user no more; also done when this object is gone."""
        if self._presence is not None:
            self._presence()
            self._presence = None

    # Files

    def file_path(self, digest: Digest, kind: EntryKind = "file") -> Path:
        """Where the bytes with that digest lie, whether they are there or not."""
        suffix = ".x" if kind == "program" else ""
        return self.base / "files" / digest.hex[:2] / f"{digest.hex}{suffix}"

    def has_file(self, digest: Digest, size: int | None = None, kind: EntryKind = "file") -> bool:
        """Whether a file is there and untouched: size, time and inode as they were.

        A file that differs in one of them was changed through a hard link, or comes from a
        backup; it is read whole, and dropped unless its bytes are right. The use is stamped.
        """
        with named(f"look at {digest.short} in the store"):
            inode = self._look(digest, size, kind, self._stamps.inode(digest, kind))
            if inode is not None:
                self._stamps.note_use(digest, kind, inode)
            return inode is not None

    def _look(
        self, digest: Digest, size: int | None, kind: EntryKind, inode: int | None
    ) -> int | None:
        """The inode of a file that is there and right; ``inode`` is the one that was noted."""
        path = self.file_path(digest, kind)
        try:
            facts = path.stat()
        except FileNotFoundError:
            return None
        looks_right = facts.st_mtime == FIXED_TIME and size in (None, facts.st_size)
        if not (looks_right and inode in (None, facts.st_ino)) and hash_file(path) != digest:
            path.unlink(missing_ok=True)
            return None
        if facts.st_mtime != FIXED_TIME or _lost_its_bits(facts, kind):
            _seal_file(path, kind)
        return facts.st_ino

    def add_file(self, source: Path, digest: Digest, kind: EntryKind = "file") -> Path:
        """Move a file that was verified to have ``digest`` into the store."""
        with named("put a file into the store"):
            final = self._take_in(source, digest, kind)
            self._read[final] = _state(final)
            return final

    def _take_in(self, source: Path, digest: Digest, kind: EntryKind) -> Path:
        final = self.file_path(digest, kind)
        if final.exists():
            noted = self._stamps.inode(digest, kind)
            if self._look(digest, source.stat().st_size, kind, noted) is not None:
                source.unlink()
                return final
        _seal_file(source, kind)
        try:
            _move(source, final)
        except PermissionError:
            # Windows refuses to replace a read-only file; another process was faster.
            if self._look(digest, None, kind, None) is None:
                raise
        return final

    def verified_file(self, digest: Digest, kind: EntryKind = "file") -> Path:
        """The path of a file, all of whose bytes were read. Raises :class:`StoreCorruptError`.

        What this object has read or taken in, and nobody has changed since, is not read again.
        """
        path = self.file_path(digest, kind)
        with named(f"read {digest.short} in the store"):
            if path.is_file():
                state = _state(path)
                if self._read.get(path) == state or hash_file(path) == digest:
                    self._read[path] = state
                    return path
            path.unlink(missing_ok=True)
        raise StoreCorruptError(
            f"The store's file {digest.short} is not what its name says; it was removed.",
            context={"path": path},
            hint="Run the same command again: it is fetched or built anew.",
        )

    # Trees

    def add_tree(self, directory: Path, cancel: Cancel) -> Tree:
        """Move a directory's files into the store and remember the tree.

        Raises :class:`IntegrityError` for what a tree cannot hold: devices, sockets, and names
        that are not Unicode.
        """
        with named("put a tree into the store"):
            try:
                tree = Tree.of(self._add_entry(*found, cancel) for found in walk(directory))
            except ValueError as error:
                raise IntegrityError(f"A tree cannot hold this: {error}.") from error
            self._stamps.note_inodes(tree.digest, "files", self._inodes(tree))
            data = msgspec.json.encode([entry.as_json() for entry in tree.entries])
            write_atomically(self.sharded("trees", tree.digest), data)
        return tree

    def _inodes(self, tree: Tree) -> list[int]:
        return [
            0 if it.digest is None else self.file_path(it.digest, it.kind).stat().st_ino
            for it in tree.entries
        ]

    def _add_entry(self, path: Path, relative: str, kind: EntryKind, cancel: Cancel) -> Entry:
        cancel.check()
        relative.encode()
        if kind == "directory":
            return Entry(relative, kind)
        if kind == "link":
            target = path.readlink().as_posix()
            target.encode()
            return Entry(relative, kind, link=target)
        digest, size = hash_file(path, cancel), path.stat().st_size
        self._take_in(path, digest, kind)
        return Entry(relative, kind, digest, size)

    def load_tree(self, digest: Digest) -> Tree | None:
        """A tree all of whose files are in the store, or ``None``. The use is stamped.

        Files are looked at as :meth:`has_file` does.
        """
        with named(f"read the tree {digest.short} in the store"):
            tree = self.read_tree(digest)
            if tree is None:
                self.sharded("trees", digest).unlink(missing_ok=True)
                return None
            noted = self._stamps.inodes(digest, "files") or []
            known = noted if len(noted) == len(tree.entries) else [0] * len(tree.entries)
            found: list[int] = []
            for entry, inode in zip(tree.entries, known, strict=True):
                if entry.digest is None:
                    found.append(0)
                    continue
                seen = self._look(entry.digest, entry.size, entry.kind, inode)
                if seen is None:
                    return None
                found.append(seen)
            if found != noted:
                self._stamps.note_inodes(digest, "files", found)
            touch(self.sharded("trees", digest))
        return tree

    def read_tree(self, digest: Digest) -> Tree | None:
        """A tree as it was remembered, whatever became of its files; ``None`` if damaged."""
        try:
            data = self.sharded("trees", digest).read_bytes()
            rows = msgspec.json.decode(data, type=list[list[object]])
            tree = Tree.of(Entry.from_json(row) for row in rows)
        except (FileNotFoundError, msgspec.DecodeError, ValueError, RecursionError):
            return None
        return tree if tree.digest == digest else None

    def checkout(self, tree: Tree) -> Path:
        """The tree as a shared directory. Nobody may write into it."""
        final = self.base / "checkouts" / tree.digest.hex
        with named(f"lay out the tree {tree.digest.short} in the store"):
            if not self._is_intact(tree, final):
                # One at a time: who finds a broken one must not remove what another has mended.
                with self.checkout_lock(tree.digest.hex):
                    if not self._is_intact(tree, final):
                        self._make_checkout(tree, final)
            seal_top(final)
            touch(self.sharded("trees", tree.digest))
        return final

    def _is_intact(self, tree: Tree, directory: Path) -> bool:
        return is_intact(tree, directory, self._stamps.inodes(tree.digest, "checkout"))

    def _make_checkout(self, tree: Tree, final: Path) -> None:
        remove_tree(final)
        with self.scratch() as work:
            made = work / "tree"
            lay_out(tree, made, self._where, link=True, sealed=True)
            seal(made)
            self._stamps.note_inodes(tree.digest, "checkout", inodes_of(tree, made))
            made.rename(final)

    def export(self, tree: Tree, directory: Path, *, link: bool = True) -> None:
        """Lay a tree out in a new or empty directory: hard links for readers, copies for others."""
        with named(f"lay out the tree {tree.digest.short}"):
            lay_out(tree, directory, self._where, link=link)

    def _where(self, entry: Entry) -> Path:
        assert entry.digest is not None
        return self.file_path(entry.digest, entry.kind)

    # Records of steps

    def record(self, key: Digest) -> dict[str, object] | None:
        """What the step with that key made, if it is remembered."""
        path = self.sharded("records", key)
        with named("read a record in the store"):
            try:
                return msgspec.json.decode(path.read_bytes(), type=dict[str, object])
            except FileNotFoundError:
                return None
            except (msgspec.DecodeError, RecursionError):
                path.unlink(missing_ok=True)
                return None

    def write_record(self, key: Digest, record: dict[str, object]) -> None:
        """Remember what a step made, after all of it is in the store."""
        with named("write a record into the store"):
            write_atomically(self.sharded("records", key), msgspec.json.encode(record))

    # Work

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A private directory on the store's own disk, gone afterwards."""
        name = uuid.uuid4().hex[:12]
        work = self.base / "work" / name
        lock = self._lock(f"work-{name}")
        with named("make scratch space in the store"):
            lock.acquire()
        try:
            with named("make scratch space in the store"):
                work.mkdir()
            yield work
        finally:
            remove_tree(work)
            lock.release()
            Path(lock.lock_file).unlink(missing_ok=True)

    @contextmanager
    def exclusive(self, key: Digest, cancel: Cancel) -> Iterator[None]:
        """Hold the right to make ``key``; another process that makes it is waited for."""
        lock = self._lock(f"step-{key.hex}")
        with named("take a lock in the store"):
            hold(lock, cancel)
        try:
            yield
        finally:
            lock.release()

    def sharded(self, part: str, digest: Digest) -> Path:
        """Where the list of a tree or a record lies."""
        return self.base / part / digest.hex[:2] / f"{digest.hex}.json"

    def checkout_lock(self, name: str) -> FileLock:
        """The lock to hold while the checkout of that name is made or removed."""
        return self._lock(f"checkout-{name}")

    def _lock(self, name: str) -> FileLock:
        return lock_at(self.base / "locks" / f"{name}.lock")

    def _sweep(self) -> None:
        """Remove the scratch of processes that are gone: nobody holds its lock any more."""
        for work in (self.base / "work").iterdir():
            lock = self._lock(f"work-{work.name}")
            if try_to_hold(lock):
                remove_tree(work)
                lock.release()
                Path(lock.lock_file).unlink(missing_ok=True)


def _lost_its_bits(facts: os.stat_result, kind: EntryKind) -> bool:
    # Windows makes execute bits up from a name's ending.
    return sys.platform != "win32" and kind == "program" and not facts.st_mode & 0o111


def _state(path: Path) -> tuple[int, ...]:
    """What changes with a file's bytes, whoever sets its times back."""
    facts = path.stat()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _move(source: Path, final: Path) -> None:
    """Rename, making the folder where it is the first of its kind: one look fewer for each file."""
    try:
        source.replace(final)
    except FileNotFoundError:
        final.parent.mkdir(parents=True, exist_ok=True)
        source.replace(final)


def _seal_file(path: Path, kind: EntryKind) -> None:
    """Give a file its mode and the fixed time."""
    path.chmod(0o555 if kind == "program" else 0o444)
    os.utime(path, (FIXED_TIME, FIXED_TIME))
