"""Ownership of one native object: counted use, and release by the last one out."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar

from vvbuild.ort.errors import ClosedError

OwnerT = TypeVar("OwnerT", bound="Owner")


class Handle:
    """The address of a native object that several threads may use and any may close.

    ``close()`` never waits and never pulls the object from under a user: the release
    happens at once when nobody uses it, else when the last user leaves.
    """

    def __init__(self, what: str, address: int, release: Callable[[int], None]) -> None:
        self._what = what
        self._address = address
        self._release = release
        self._lock = threading.Lock()
        self._users = 0
        self._closed = False

    @contextmanager
    def use(self) -> Iterator[int]:
        """Keep the object alive for the block and give its address.

        Raises :class:`ClosedError` when it was closed before.
        """
        address = self._enter(even_if_closed=False)
        if address is None:
            raise ClosedError(f"This {self._what} is closed.")
        try:
            yield address
        finally:
            self._leave()

    @contextmanager
    def use_if_alive(self) -> Iterator[int | None]:
        """As :meth:`use`, also for a closed object that somebody still uses; else ``None``."""
        address = self._enter(even_if_closed=True)
        try:
            yield address
        finally:
            if address is not None:
                self._leave()

    def close(self) -> None:
        """Give the object up. Calling it again does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            idle = self._users == 0
        if idle:
            self._release(self._address)

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    def _enter(self, *, even_if_closed: bool) -> int | None:
        with self._lock:
            if self._closed and not (even_if_closed and self._users):
                return None
            self._users += 1
            return self._address

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            last = self._closed and self._users == 0
        if last:
            self._release(self._address)

    def __del__(self) -> None:
        if not self._closed:
            warnings.warn(f"unclosed {self._what}", ResourceWarning, source=self, stacklevel=2)
            self.close()


class Owner:
    """What has a native object: closed by hand, or by the end of a ``with`` block."""

    _handle: Handle

    def close(self) -> None:
        """Release the native object, or let the last one who still uses it do so."""
        self._handle.close()

    def __enter__(self: OwnerT) -> OwnerT:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
