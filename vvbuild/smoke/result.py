"""What a smoke test is asked for, and what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Literal

State = Literal["ok", "failed", "skipped", "not offered"]

DEFAULT_TEXT = "こんにちは、音声合成の世界へようこそ。"


@dataclass(frozen=True, slots=True)
class SmokeOptions:
    """How to test. Times are in seconds.

    ``timeout`` is for the start, ``request_timeout`` for each request after it,
    ``stop_timeout`` for the end after SIGTERM. ``trials`` is how often a synthesis is
    cancelled.
    """

    timeout: float = 60.0
    request_timeout: float = 60.0
    stop_timeout: float = 5.0
    trials: int = 5
    text: str = DEFAULT_TEXT
    keep: bool = False
    wav: Path | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; ``seconds`` is wall time.

    ``not offered`` is no failure: the engine does not claim to have it. A skipped check
    depends on one that failed.
    """

    name: str
    state: State
    seconds: float
    detail: str

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong here."""
        return self.state in ("ok", "not offered")


@dataclass(frozen=True, slots=True)
class CancelTimes:
    """Milliseconds from the client's leaving to the engine's rest, one for each trial."""

    milliseconds: tuple[float, ...] = ()

    def percentile(self, percent: int) -> float | None:
        """The smallest time that ``percent`` of the trials did not exceed (nearest rank)."""
        if not self.milliseconds:
            return None
        ordered = sorted(self.milliseconds)
        return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)]


@dataclass(frozen=True, slots=True)
class SmokeResult:
    """What a smoke test found.

    ``first_answer`` is in seconds from the start of the program. ``kept`` is the temporary
    directory, if it was to be kept. ``last_lines`` is the end of the engine's own output.
    """

    path: Path
    checks: Sequence[Check]
    engine: str
    ort_version: str | None
    first_answer: float
    speech: bytes
    cancel: CancelTimes
    kept: Path | None
    wav: Path | None
    last_lines: str

    @property
    def failed(self) -> bool:
        """Whether a check failed."""
        return any(check.state == "failed" for check in self.checks)
