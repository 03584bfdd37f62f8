"""The only place that creates what an archive holds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_TIME_BY_HANDLE = os.utime in os.supports_fd
_MODE_BY_HANDLE = hasattr(os, "fchmod")


class TreeWriter:
    """Writes files, links and directories below a fresh directory, with fixed modes and time.

    Paths are relative with forward slashes, and were judged by ``Selection`` before. Files may
    be written from several threads; directories are made by one.
    """

    def __init__(self, root: Path, mtime: int) -> None:
        self._root = os.fspath(root)
        self._times = (mtime, mtime)
        self._made: set[str] = {""}
        self.count = 0

    def directory(self, path: str) -> None:
        """Make a directory and those above it."""
        if path in self._made:
            return
        self.directory(path.rpartition("/")[0])
        # 700 while it is filled, so that nobody else can plant a link in it.
        os.mkdir(f"{self._root}/{path}", 0o700)  # noqa: PTH102 - one call for each of thousands
        self._made.add(path)

    def file(self, path: str, pieces: Iterable[bytes], *, executable: bool) -> None:
        """Write a file; its directory is there."""
        full = f"{self._root}/{path}"
        mode = 0o755 if executable else 0o644
        handle = os.open(full, _CREATE, 0o600)
        try:
            for piece in pieces:
                _write_all(handle, piece)
            if _MODE_BY_HANDLE:
                os.fchmod(handle, mode)
            if _TIME_BY_HANDLE:
                os.utime(handle, self._times)
        finally:
            os.close(handle)
        if not _MODE_BY_HANDLE:
            Path(full).chmod(mode)
        if not _TIME_BY_HANDLE:
            os.utime(full, self._times)

    def symbolic_link(self, path: str, target: str) -> None:
        """Make a link; its directory is there."""
        full = Path(self._root, path)
        full.symlink_to(target)
        if os.utime in os.supports_follow_symlinks:
            os.utime(full, self._times, follow_symlinks=False)

    def hard_link(self, path: str, earlier: str) -> None:
        """Give an earlier file a second name, or copy it where links are impossible."""
        source, full = Path(self._root, earlier), Path(self._root, path)
        try:
            os.link(source, full)
        except OSError:
            shutil.copy2(source, full)

    def finish(self) -> None:
        """Give the directories their mode and time, the deepest first."""
        for path in sorted(self._made, key=len, reverse=True):
            full = f"{self._root}/{path}"
            Path(full).chmod(0o755)
            os.utime(full, self._times)


def _write_all(handle: int, data: bytes) -> None:
    written = os.write(handle, data)
    while written < len(data):
        written += os.write(handle, memoryview(data)[written:])
