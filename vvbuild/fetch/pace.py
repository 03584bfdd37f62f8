"""How fast bytes come, and how often that is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vvbuild.fetch.attempts import AttemptError
from vvbuild.model.events import Emit, Progress


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect, and without a single byte. ``slowest`` is bytes per second.

    A server that stays below ``slowest`` for a whole ``idle`` span counts as stalled.
    """

    connect: float = 20.0
    idle: float = 60.0
    slowest: float = 256.0


class Pace:
    """Notices a server that only drips: too few bytes for a whole idle span."""

    def __init__(self, timeouts: Timeouts, clock: Callable[[], float]) -> None:
        self._span = timeouts.idle
        self._least = timeouts.idle * timeouts.slowest
        self._clock = clock
        self._began = clock()
        self._bytes = 0

    def tick(self, count: int) -> None:
        """Count bytes that came. Raises ``AttemptError`` when too few did."""
        self._bytes += count
        now = self._clock()
        if now - self._began < self._span:
            return
        if self._bytes < self._least:
            raise AttemptError(
                f"stalled: {self._bytes} bytes in {now - self._began:.0f} s", retry=True
            )
        self._began, self._bytes = now, 0


class Meter:
    """Tells how far one task is, at most ten times a second."""

    def __init__(
        self, emit: Emit, task: str, total: int | None, clock: Callable[[], float]
    ) -> None:
        self._emit = emit
        self._task = task
        self._total = total
        self._clock = clock
        self._last = float("-inf")
        self._told = -1

    def tell(self, done: int, *, final: bool = False) -> None:
        """Emit progress, unless that was done a moment ago."""
        now = self._clock()
        if done != self._told and (final or now - self._last >= 0.1):
            self._last, self._told = now, done
            self._emit(Progress(self._task, done, self._total))
