"""The content-addressed store of files and trees on this machine.

Layout below ``root``, which carries a format version so that an older vvbuild never reads
what it does not understand::

    CACHEDIR.TAG
    v1/files/ab/<sha256>[.x]     read-only, one fixed time; `.x` has execute bits
    v1/trees/ab/<digest>.json    lists of (path, kind, digest, size)
    v1/records/ab/<key>.json     what a step with that key made
    v1/checkouts/<tree>/         whole trees as read-only directories of hard links
    v1/locks/  v1/work/<name>/   scratch of running processes, swept when they are gone
    v1/uv/                       uv's own cache

Everything enters by one rename, so a process that dies leaves nothing that is trusted.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from vvbuild.errors import IntegrityError, StoreCorruptError, UsageError
from vvbuild.model.digest import Digest
from vvbuild.model.tree import Entry, EntryKind, Tree
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file, remove_tree, write_atomically

if TYPE_CHECKING:
    from filelock import FileLock

FORMAT = "v1"
# 1980-01-02: the first whole day that a zip can hold in every time zone.
FIXED_TIME = 315_619_200
# Linux's ioctl that makes one file share another's blocks (ioctl_ficlone(2)).
_FICLONE = 0x40049409
_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# Cache of vvbuild. https://bford.info/cachedir/\n"


def default_root() -> Path:
    """``VVBUILD_CACHE_DIR``, or the platform's cache directory."""
    chosen = os.environ.get("VVBUILD_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("vvbuild", appauthor=False))


class Store:
    """Files by SHA-256, trees by digest, records by step key. Safe for many processes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.base = root / FORMAT

    def prepare(self) -> None:
        """Make the directories, and sweep what processes that died have left."""
        tag = self.root / "CACHEDIR.TAG"
        if not tag.is_file():
            # The tag is looked for again: another process may be making the same store right now.
            if _holds_foreign_files(self.root) and not tag.is_file():
                raise UsageError(
                    f"{self.root} holds files, and it is not a store of vvbuild.",
                    hint="Set VVBUILD_CACHE_DIR to an empty or a new directory.",
                )
            write_atomically(tag, _TAG)
        for part in ("files", "trees", "records", "checkouts", "locks", "work", "uv"):
            (self.base / part).mkdir(parents=True, exist_ok=True)
        self._sweep()

    # Files

    def file_path(self, digest: Digest, kind: EntryKind = "file") -> Path:
        """Where the bytes with that digest lie, whether they are there or not."""
        suffix = ".x" if kind == "program" else ""
        return self.base / "files" / digest.hex[:2] / f"{digest.hex}{suffix}"

    def has_file(self, digest: Digest, size: int | None = None, kind: EntryKind = "file") -> bool:
        """Whether a file is there and untouched: size and time as they were stored.

        A file whose time or size differs was changed through a hard link; it is read whole,
        and dropped unless its bytes are still right.
        """
        path = self.file_path(digest, kind)
        try:
            facts = path.stat()
        except FileNotFoundError:
            return False
        if facts.st_mtime == FIXED_TIME and size in (None, facts.st_size):
            return True
        if hash_file(path) == digest:
            os.utime(path, (FIXED_TIME, FIXED_TIME))
            return True
        path.unlink(missing_ok=True)
        return False

    def add_file(self, source: Path, digest: Digest, kind: EntryKind = "file") -> Path:
        """Move a file that was verified to have ``digest`` into the store."""
        final = self.file_path(digest, kind)
        if self.has_file(digest, source.stat().st_size, kind):
            source.unlink()
            return final
        final.parent.mkdir(parents=True, exist_ok=True)
        source.chmod(0o555 if kind == "program" else 0o444)
        os.utime(source, (FIXED_TIME, FIXED_TIME))
        try:
            source.replace(final)
        except PermissionError:
            # Windows refuses to replace a read-only file; another process was faster.
            if not self.has_file(digest, None, kind):
                raise
        return final

    def verified_file(self, digest: Digest, kind: EntryKind = "file") -> Path:
        """The path of a file after reading all of it. Raises :class:`StoreCorruptError`."""
        path = self.file_path(digest, kind)
        if path.is_file() and hash_file(path) == digest:
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
        try:
            tree = Tree.of(self._add_entry(*found, cancel) for found in walk(directory))
        except ValueError as error:
            raise IntegrityError(f"A tree cannot hold this: {error}.") from error
        data = msgspec.json.encode([entry.as_json() for entry in tree.entries])
        write_atomically(self._sharded("trees", tree.digest), data)
        return tree

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
        self.add_file(path, digest, kind)
        return Entry(relative, kind, digest, size)

    def load_tree(self, digest: Digest) -> Tree | None:
        """A tree all of whose files are in the store, or ``None``."""
        path = self._sharded("trees", digest)
        try:
            rows = msgspec.json.decode(path.read_bytes(), type=list[list[object]])
            tree = Tree.of(Entry.from_json(row) for row in rows)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, ValueError, RecursionError):
            path.unlink(missing_ok=True)
            return None
        if tree.digest != digest:
            path.unlink(missing_ok=True)
            return None
        for entry in tree.entries:
            if entry.digest is not None and not self.has_file(entry.digest, entry.size, entry.kind):
                return None
        return tree

    def checkout(self, tree: Tree) -> Path:
        """The tree as a shared directory. Nobody may write into it."""
        final = self.base / "checkouts" / tree.digest.hex
        if _intact(tree, final):
            return final
        # One at a time: who finds a broken one must not remove what another has just mended.
        with self._lock(f"checkout-{tree.digest.hex}"):
            if not _intact(tree, final):
                remove_tree(final)
                with self.scratch() as work:
                    self.export(tree, work / "tree")
                    (work / "tree").rename(final)
        return final

    def export(self, tree: Tree, directory: Path, *, link: bool = True) -> None:
        """Lay a tree out in a new or empty directory: hard links for readers, copies for others."""
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
                source = self.file_path(entry.digest, entry.kind)
                if not (link and _hard_link(source, path)):
                    copy_file(source, path)
                    path.chmod(entry.mode)
                    os.utime(path, (FIXED_TIME, FIXED_TIME))

    # Records of steps

    def record(self, key: Digest) -> dict[str, object] | None:
        """What the step with that key made, if it is remembered."""
        path = self._sharded("records", key)
        try:
            return msgspec.json.decode(path.read_bytes(), type=dict[str, object])
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, RecursionError):
            path.unlink(missing_ok=True)
            return None

    def write_record(self, key: Digest, record: dict[str, object]) -> None:
        """Remember what a step made, after all of it is in the store."""
        write_atomically(self._sharded("records", key), msgspec.json.encode(record))

    # Work

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A private directory on the store's own disk, gone afterwards."""
        name = uuid.uuid4().hex[:12]
        work = self.base / "work" / name
        lock = self._lock(f"work-{name}")
        lock.acquire()
        try:
            work.mkdir()
            yield work
        finally:
            remove_tree(work)
            lock.release()
            Path(lock.lock_file).unlink(missing_ok=True)

    @contextmanager
    def exclusive(self, key: Digest, cancel: Cancel) -> Iterator[None]:
        """Hold the right to make ``key``; another process that makes it is waited for."""
        from filelock import Timeout

        lock = self._lock(f"step-{key.hex}")
        while True:
            cancel.check()
            try:
                lock.acquire(timeout=0.2, poll_interval=0.05)
                break
            except Timeout:
                continue
        try:
            yield
        finally:
            lock.release()

    def _lock(self, name: str) -> FileLock:
        from filelock import FileLock

        return FileLock(self.base / "locks" / f"{name}.lock", thread_local=False)

    def _sharded(self, part: str, digest: Digest) -> Path:
        return self.base / part / digest.hex[:2] / f"{digest.hex}.json"

    def _sweep(self) -> None:
        """Remove the scratch of processes that are gone: nobody holds its lock any more."""
        from filelock import Timeout

        for work in (self.base / "work").iterdir():
            lock = self._lock(f"work-{work.name}")
            try:
                lock.acquire(timeout=0)
            except Timeout:
                continue
            remove_tree(work)
            lock.release()
            Path(lock.lock_file).unlink(missing_ok=True)


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
    elif not _hard_link(source, destination):
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


def _intact(tree: Tree, directory: Path) -> bool:
    """Whether a checkout still has every file of its tree, untouched by size and time."""
    if not directory.is_dir():
        return False
    try:
        return all(_is_intact(entry, directory / entry.path) for entry in tree.entries)
    except OSError:
        return False


def _is_intact(entry: Entry, path: Path) -> bool:
    facts = path.lstat()
    if entry.kind == "directory":
        return stat.S_ISDIR(facts.st_mode)
    if entry.link is not None:
        return stat.S_ISLNK(facts.st_mode) and path.readlink().as_posix() == entry.link
    is_file = stat.S_ISREG(facts.st_mode)
    return is_file and (facts.st_size, facts.st_mtime) == (entry.size, FIXED_TIME)


def _holds_foreign_files(root: Path) -> bool:
    """Whether anything lies there but the beginnings of our own tag."""
    try:
        return any(not path.name.startswith(".CACHEDIR.TAG.") for path in root.iterdir())
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        return True


def _hard_link(source: Path, destination: Path) -> bool:
    try:
        os.link(source, destination)
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError:
        # Another disk, a file system without hard links, or too many links to one file.
        return False
    return True
