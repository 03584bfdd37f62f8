"""The SHA-256 of a file that still grows."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

from vvbuild.model.digest import Digest
from vvbuild.runtime.cancel import Cancel

_CHUNK = 1 << 20
# Below this a thread costs more than it gains.
_WORTH_A_THREAD = 4 << 20


class Follower:
    """Hashes a file behind its front, in a thread once that pays.

    The thread reads back what was written (from the page cache, most of the time), so that bytes
    which came out of order, or in a run before, need no path of their own. :mod:`hashlib` lets
    other threads run meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hash = hashlib.sha256()
        self._done = 0
        self._front = 0
        self._stop = False
        self._error: OSError | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def take(self, first: int, chunk: bytes) -> bool:
        """Hash bytes that were just written, if it is their turn and no thread is needed yet."""
        if self._thread is not None or first != self._done or first >= _WORTH_A_THREAD:
            return False
        self._hash.update(chunk)
        self._done = self._front = first + len(chunk)
        return True

    def advance(self, front: int) -> None:
        """Tell that the file is complete up to ``front``."""
        if front - self._front < _CHUNK:
            return
        with self._changed:
            self._front = front
            self._changed.notify_all()
        if self._thread is None and front - self._done >= _WORTH_A_THREAD:
            self._thread = threading.Thread(target=self._run, daemon=True, name="vvbuild-hash")
            self._thread.start()

    def finish(self, front: int, cancel: Cancel) -> Digest:
        """The digest of the first ``front`` bytes, all of which are there now."""
        if self._thread is None and self._done < front:
            with self._path.open("rb", buffering=0) as stream:
                stream.seek(self._done)
                while self._done < front and (
                    chunk := stream.read(min(_CHUNK, front - self._done))
                ):
                    self._hash.update(chunk)
                    self._done += len(chunk)
                    cancel.check()
        elif self._thread is not None:
            self._wait_until(front, cancel)
        return Digest(self._hash.hexdigest())

    def _wait_until(self, front: int, cancel: Cancel) -> None:
        with self._changed:
            self._front = front
            self._changed.notify_all()
            while self._done < front and self._error is None:
                self._changed.wait(0.2)
                cancel.check()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            with self._changed:
                self._stop = True
                self._changed.notify_all()
            self._thread.join()

    def _run(self) -> None:
        try:
            with self._path.open("rb", buffering=0) as stream:
                stream.seek(self._done)
                buffer = bytearray(_CHUNK)
                while self._wait():
                    room = memoryview(buffer)[: min(_CHUNK, self._front - self._done)]
                    count = stream.readinto(room)
                    if not count:
                        raise OSError(None, "the partial file became shorter", str(self._path))
                    self._hash.update(room[:count])
                    self._done += count
        except OSError as error:
            self._error = error
        finally:
            with self._changed:
                self._changed.notify_all()

    def _wait(self) -> bool:
        """Sleep until there is something to hash; ``False`` when nothing more will come."""
        with self._changed:
            if self._done >= self._front:
                self._changed.notify_all()
            while self._done >= self._front and not self._stop:
                self._changed.wait()
        return not self._stop
