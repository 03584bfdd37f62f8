"""Calls that cannot be interrupted, made so that their caller can."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from vvbuild.runtime.cancel import Cancel

T = TypeVar("T")


class _Call(Generic[T]):
    """The outcome of a call, claimed either by its caller or by nobody."""

    def __init__(self, work: Callable[[], T], discard: Callable[[T], None]) -> None:
        self._work = work
        self._discard = discard
        self._lock = threading.Lock()
        self._abandoned = False
        self._outcome: list[T] = []
        self._error: BaseException | None = None
        self.wake = threading.Event()

    def run(self) -> None:
        try:
            result = self._work()
        except BaseException as error:  # noqa: BLE001 - handed on to the caller as it is
            self._error = error
        else:
            with self._lock:
                late = self._abandoned
                if not late:
                    self._outcome.append(result)
            if late:
                self._discard(result)
        finally:
            self.wake.set()

    def abandon(self) -> None:
        with self._lock:
            self._abandoned = True
            late = list(self._outcome)
            self._outcome.clear()
        for result in late:
            self._discard(result)

    def claim(self) -> T:
        if self._error is not None:
            raise self._error
        return self._outcome[0]


def interruptible(work: Callable[[], T], cancel: Cancel, discard: Callable[[T], None]) -> T:
    """Run ``work`` in a thread and return what it returns, or stop waiting when cancelled.

    Looking up a host's name, connecting and waiting for the first byte block for up to their
    time limits, and no system lets another thread end them. A cancelled caller leaves at once;
    what ``work`` still yields is handed to ``discard``.
    """
    cancel.check()
    call = _Call(work, discard)
    thread = threading.Thread(target=call.run, daemon=True, name="vvbuild-open")
    forget = cancel.add(call.wake.set)
    try:
        thread.start()
        # In slices, since Windows delivers Ctrl-C only between waits.
        while not call.wake.wait(0.2):
            pass
        cancel.check()
        return call.claim()
    except BaseException:
        call.abandon()
        raise
    finally:
        forget()
