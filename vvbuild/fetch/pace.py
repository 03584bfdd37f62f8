"""How fast bytes come, and how often that is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from vvbuild.fetch.attempts import AttemptError
from vvbuild.model.events import Emit, Progress


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect, without a single byte, for a page, and for a file from one source.

    A server that stays below ``slowest`` bytes per second for a whole ``idle`` span counts as
    stalled. ``file`` leaves time for the largest archives (3 GB) at 2 Mbit/s, with resumes.
    """

    connect: float = 20.0
    idle: float = 60.0
    page: float = 300.0
    file: float = 6 * 3600.0
    slowest: float = 1024.0


class Pace:
    """Ends a body that only drips, or that is not over at ``deadline``, a time of ``clock``."""

    def __init__(self, timeouts: Timeouts, deadline: float, clock: Callable[[], float]) -> None:
        self._span = timeouts.idle
        self._least = timeouts.idle * timeouts.slowest
        self._deadline = deadline
        self._clock = clock
        self._began = clock()
        self._bytes = 0

    def tick(self, count: int) -> None:
        """Count bytes that came. Raises ``AttemptError`` when they were too few or too late."""
        self._bytes += count
        now = self._clock()
        if now >= self._deadline:
            raise AttemptError("took too long altogether")
        if now - self._began < self._span:
            return
        if self._bytes < self._least:
            raise AttemptError(
                f"stalled: {self._bytes} bytes in {now - self._began:.0f} s", retry=True
            )
        self._began, self._bytes = now, 0


class Meter:
    """Tells how far one task is, at most ten times a second. Shared by threads."""

    def __init__(
        self, emit: Emit, task: str, total: int | None, clock: Callable[[], float]
    ) -> None:
        self._emit = emit
        self._task = task
        self._total = total
        self._clock = clock
        self._last = float("-inf")
        self._told = -1
        self._lock = threading.Lock()

    def restart(self) -> None:
        """Allow the next number to be lower than the last one."""
        with self._lock:
            self._told = -1

    def tell(self, done: int, *, final: bool = False) -> None:
        """Emit progress, unless that was done a moment ago, or another thread told of more."""
        now = self._clock()
        with self._lock:
            if done > self._told and (final or now - self._last >= 0.1):
                self._last, self._told = now, done
                self._emit(Progress(self._task, done, self._total))
