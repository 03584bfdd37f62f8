"""Unpack ahead of the writing: two processors instead of one, a few megabytes of memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, Full, Queue
from types import TracebackType

_PIECE = 1 << 20
_PIECES = 4
_SECONDS = 0.1


class ReadAhead:
    """What ``read`` yields, fetched by a thread of its own before it is asked for.

    The end of the block ends the thread; what ``read`` raises is raised where its bytes would be.
    ``give_up`` is called first if the block fails: it makes a ``read`` return that waits.
    """

    def __init__(
        self, read: Callable[[int], bytes], give_up: Callable[[], None] | None = None
    ) -> None:
        self._source = read
        self._give_up = give_up
        self._queue: Queue[bytes | BaseException] = Queue(_PIECES)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="vvbuild-unpack-ahead")
        self._piece = b""
        self._at = 0
        self._over = False

    def __enter__(self) -> ReadAhead:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        if error is not None and self._give_up is not None:
            self._give_up()
        # Room for what it holds in its hand, so that it need not wait for the end of a slice.
        with suppress(Empty):
            while True:
                self._queue.get_nowait()
        self._thread.join()

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes, none at the end."""
        if self._at == len(self._piece):
            if self._over:
                return b""
            found = self._next()
            if isinstance(found, BaseException):
                self._over = True
                raise found
            self._piece, self._at = found, 0
            self._over = not found
        if self._at == 0 and size >= len(self._piece):
            self._at = len(self._piece)
            return self._piece
        data = self._piece[self._at : self._at + size]
        self._at += len(data)
        return data

    def _next(self) -> bytes | BaseException:
        found: bytes | BaseException | None = None
        # In slices, since Windows delivers Ctrl-C only between waits.
        while found is None:
            with suppress(Empty):
                found = self._queue.get(timeout=_SECONDS)
        return found

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                data = self._source(_PIECE)
                self._put(data)
                if not data:
                    return
        except BaseException as error:  # noqa: BLE001 - raised by who reads
            self._put(error)

    def _put(self, found: bytes | BaseException) -> None:
        while not self._stop.is_set():
            with suppress(Full):
                self._queue.put(found, timeout=_SECONDS)
                return
