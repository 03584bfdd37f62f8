"""One try, many tries, and what is told about them in the end."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from vvbuild.errors import (
    DigestMismatchError,
    NetworkError,
    SizeMismatchError,
    VvbuildError,
)
from vvbuild.fetch.urls import redact
from vvbuild.model.events import Emit, Note, silent
from vvbuild.runtime.cancel import Cancel

T = TypeVar("T")


class AttemptError(Exception):
    """One try failed. It never leaves ``vvbuild.fetch``; a :class:`VvbuildError` does.

    ``what`` continues "the server …" or stands alone; ``error`` is the class to raise if
    nothing else helps; ``retry`` says whether the same request could go better later, and
    ``wait`` how many seconds the server asked to wait.
    """

    def __init__(
        self,
        what: str,
        *,
        error: type[VvbuildError] = NetworkError,
        retry: bool = False,
        wait: float | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = redact(what)
        self.error = error
        self.retry = retry
        self.wait = wait
        self.hint = hint


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently a request is repeated.

    ``waits`` are the pauses in seconds before the second, third … try; together more than a
    minute, which outlasts a restart of a server or a lost Wi-Fi. ``progress_bytes`` more than
    ever before begin the row anew, so that a huge file survives any number of cuts.
    ``jitter`` lengthens each pause at random by up to that part, so that many downloads that
    failed together do not come back together.
    """

    waits: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    longest_retry_after: float = 120.0
    progress_bytes: int = 1 << 20
    jitter: float = 0.25

    def pause(self, own: float, asked: float | None) -> float:
        """Seconds to wait: our own row, or longer if the server asks, up to a cap."""
        if asked is not None:
            return min(max(own, asked), self.longest_retry_after)
        return own * (1 + self.jitter * random.random())  # noqa: S311 - spreads load only


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one try came to: where, what happened, and after how many seconds."""

    source: str
    what: str
    seconds: float
    error: type[VvbuildError]
    hint: str | None


@dataclass
class AttemptLog:
    """Every try for one file, for the error that tells them all."""

    subject: str
    attempts: list[Attempt] = field(default_factory=list)

    def add(self, source: str, failure: AttemptError, seconds: float) -> None:
        """Remember a failed try."""
        attempt = Attempt(source, failure.what, seconds, failure.error, failure.hint)
        self.attempts.append(attempt)

    def error(self) -> VvbuildError:
        """The error for people: the gravest kind, the last words, and every try as context."""
        last = self.attempts[-1]
        sources = dict.fromkeys(attempt.source for attempt in self.attempts)
        tried = (
            f"{last.source}: {last.what}"
            if len(self.attempts) == 1
            else f"{len(self.attempts)} attempts at {len(sources)} "
            f"source{'s' if len(sources) > 1 else ''} failed; the last, {last.source}: {last.what}"
        )
        context = {
            f"attempt {number}": f"{attempt.source}: {attempt.what} ({attempt.seconds:.1f} s)"
            for number, attempt in enumerate(self.attempts, 1)
        }
        kind = self._kind()
        hints = [attempt.hint for attempt in self.attempts if attempt.hint]
        return kind(
            f"Could not get {self.subject}. {tried}.",
            context=context,
            hint=hints[-1] if hints else _HINTS.get(kind, _HINTS[NetworkError]),
        )

    def _kind(self) -> type[VvbuildError]:
        kinds = [attempt.error for attempt in self.attempts]
        for grave in (DigestMismatchError, SizeMismatchError):
            if grave in kinds:
                return grave
        return kinds[0] if len(set(kinds)) == 1 else NetworkError


_HINTS: dict[type[VvbuildError], str] = {
    NetworkError: "Check the connection and the configured indexes, then run the same command "
    "again; what is already in the store is kept.",
    DigestMismatchError: "Somebody changed the file after it was locked. Do not use it; find out "
    "why; `vvbuild lock --accept-drift NAME` takes the new bytes.",
    SizeMismatchError: "Somebody changed the file after it was locked. Do not use it; find out "
    "why; `vvbuild lock --accept-drift NAME` takes the new bytes.",
}


def default_pause(seconds: float, cancel: Cancel) -> None:
    """Wait; ends at once with :class:`~vvbuild.errors.CancelledError` when cancelled."""
    cancel.wait(seconds)
    cancel.check()


@dataclass
class Patience:
    """Runs work until it succeeds or is hopeless; the clock and the pauses can be replaced."""

    policy: RetryPolicy = field(default_factory=RetryPolicy)
    pause: Callable[[float, Cancel], None] = default_pause
    clock: Callable[[], float] = time.monotonic

    def persist(
        self,
        work: Callable[[], T],
        *,
        source: str,
        log: AttemptLog,
        cancel: Cancel,
        emit: Emit = silent,
        reached: Callable[[], int] = lambda: 0,
    ) -> T:
        """Call ``work`` until it returns; ``reached`` tells how many bytes it ever got to.

        Every failure is in ``log`` when the last :class:`AttemptError` is raised.
        """
        remaining, best = list(self.policy.waits), reached()
        while True:
            started = self.clock()
            try:
                cancel.check()
                return work()
            except AttemptError as failure:
                cancel.check()
                log.add(source, failure, self.clock() - started)
                if reached() - best >= self.policy.progress_bytes:
                    remaining, best = list(self.policy.waits), reached()
                if not failure.retry or not remaining:
                    raise
                seconds = self.policy.pause(remaining.pop(0), failure.wait)
                text = f"{log.subject}: {failure.what}; next attempt in {seconds:.0f} s"
                emit(Note(text, level="warning"))
            self.pause(seconds, cancel)
