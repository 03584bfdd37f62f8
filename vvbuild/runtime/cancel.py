"""One way to stop everything."""

from __future__ import annotations

import threading
from collections.abc import Callable

from vvbuild.errors import CancelledError


class Cancel:
    """A flag that is set once; workers poll it, children are ended by its callbacks."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0

    def is_set(self) -> bool:
        """Whether everything shall stop.

        Not ``__bool__``: `cancel or Cancel()` would exchange a flag that is not set yet.
        """
        return self._event.is_set()

    def set(self) -> None:
        """Stop everything that listens. Safe to call twice and from a signal handler's thread."""
        self._event.set()
        with self._lock:
            callbacks = list(self._callbacks.values())
        for callback in callbacks:
            callback()

    def check(self) -> None:
        """Raise :class:`CancelledError` once the flag is set."""
        if self._event.is_set():
            raise CancelledError("Interrupted.")

    def wait(self, seconds: float) -> bool:
        """Sleep, or wake at once when the flag is set; tells whether it is."""
        return self._event.wait(seconds)

    def add(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` when the flag is set (at once if it is); returns how to forget it."""
        with self._lock:
            token = self._next
            self._next += 1
            self._callbacks[token] = callback
        if self._event.is_set():
            callback()

        def forget() -> None:
            with self._lock:
                self._callbacks.pop(token, None)

        return forget
