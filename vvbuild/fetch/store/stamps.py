"""What the store remembers of its entries: when they were last used, and their inodes.

The files themselves carry one fixed time, and a file system's own time of the last access
depends on how it is mounted and on who reads (a backup, a virus scanner). So a use leaves a
stamp: the time of a tree's or a record's own list, and a small file for a file that is asked
for by itself. A stamp is renewed at most once in :data:`GRAIN`.

An inode that differs from the noted one means that the file was put there by somebody else: by a
backup, a copy of the store, an editor that replaces files. Such a file is read whole, once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from vvbuild.model.digest import Digest
from vvbuild.model.tree import EntryKind
from vvbuild.runtime.files import write_atomically

# Seconds by which a stamp may be older than the last use.
GRAIN = 3600.0


class Stamps:
    """Last uses and inodes, below ``seen/`` of a store.

    Nothing here is needed to read the store: what cannot be written (a store that is read-only,
    a full disk) is left out, and what is missing or damaged counts as unknown.
    """

    def __init__(self, base: Path) -> None:
        self._base = base / "seen"

    def inodes(self, tree: Digest, what: str) -> list[int] | None:
        """What :meth:`note_inodes` wrote, in the order of the tree's entries."""
        try:
            return msgspec.json.decode(
                self._path(f"{tree.hex}.{what}").read_bytes(), type=list[int]
            )
        except (OSError, msgspec.DecodeError):
            return None

    def note_inodes(self, tree: Digest, what: str, inodes: list[int]) -> None:
        """Remember the inodes of a tree's files (``what`` is ``files``) or of its checkout."""
        with _as_far_as_possible():
            write_atomically(self._path(f"{tree.hex}.{what}"), msgspec.json.encode(inodes))

    def inode(self, digest: Digest, kind: EntryKind) -> int | None:
        """The inode that was noted for a file that is used by itself."""
        try:
            return int(self.use_of(digest, kind).read_bytes())
        except (OSError, ValueError):
            return None

    def note_use(self, digest: Digest, kind: EntryKind, inode: int) -> None:
        """Remember a file's inode, and that it was used just now."""
        path = self.use_of(digest, kind)
        known = self.inode(digest, kind) == inode
        with _as_far_as_possible():
            if known:
                touch(path)
                return
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"%d" % inode)

    def use_of(self, digest: Digest, kind: EntryKind) -> Path:
        """The stamp of a file that is used by itself."""
        return self._path(f"{digest.hex}{'.x' if kind == 'program' else ''}")

    def forget(self, tree: Digest) -> None:
        """Drop what is known of a tree's inodes."""
        for what in ("files", "checkout"):
            self._path(f"{tree.hex}.{what}").unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._base / name[:2] / name


def touch(path: Path) -> None:
    """Stamp a use, unless the stamp is fresh. One in the future (a clock gone wrong) is renewed."""
    with _as_far_as_possible():
        if abs(time.time() - path.stat().st_mtime) > GRAIN:
            os.utime(path)


def last_use(path: Path, now: float) -> float | None:
    """When a stamp was last renewed, never later than ``now``; ``None`` without a stamp."""
    try:
        return min(path.stat().st_mtime, now)
    except OSError:
        return None


@contextmanager
def _as_far_as_possible() -> Iterator[None]:
    try:
        yield
    except OSError:
        # A stamp saves time or space; what it speaks of is right without it.
        pass
