"""The list of checks: one after the other, and none without what it builds on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from vvbuild.model.events import Emit, Progress
from vvbuild.runtime.cancel import Cancel
from vvbuild.smoke.result import Check, State

_LAST_BREATH = 0.2

GivenT = TypeVar("GivenT")
ValueT = TypeVar("ValueT")


class CheckFailedError(Exception):
    """A check that failed; its text says what is wrong."""


class NotOfferedError(Exception):
    """Something that this engine does not claim to have, or that cannot be judged here."""


@dataclass(frozen=True, slots=True)
class Passed(Generic[ValueT]):
    """What a check that passed says, and what later checks may use."""

    detail: str
    value: ValueT


class Checks:
    """Runs checks and keeps their records.

    ``ended`` tells how the engine ended, or ``None`` if it still runs after so many seconds.
    """

    def __init__(
        self, names: Sequence[str], ended: Callable[[float], str | None], emit: Emit, cancel: Cancel
    ) -> None:
        self._names = names
        self._ended = ended
        self._emit = emit
        self._cancel = cancel
        self.records: list[Check] = []

    def run(
        self,
        name: str,
        given: GivenT | None,
        work: Callable[[GivenT], Passed[ValueT]],
        *,
        after: str,
        alive: bool = True,
    ) -> ValueT | None:
        """Do one check with what the check ``after`` gave; gives what this one found.

        Without that, or if the engine has ended (and ``alive`` says that it must live), the
        check is skipped. Raises :class:`CancelledError` once told to stop.
        """
        self._cancel.check()
        before = self._ended(0) if alive else None
        if given is None or before is not None:
            self.add(name, "skipped", 0.0, before or f"{after} failed")
            return None
        started = time.perf_counter()
        value: ValueT | None = None
        state: State
        try:
            passed = work(given)
            state, detail, value = "ok", passed.detail, passed.value
        except CheckFailedError as error:
            # A process that dies closes its connections first.
            end = self._ended(_LAST_BREATH) if alive else None
            state, detail = "failed", f"{error}; {end}" if end else str(error)
        except NotOfferedError as error:
            state, detail = "not offered", str(error)
        self.add(name, state, time.perf_counter() - started, detail)
        return value

    def add(self, name: str, state: State, seconds: float, detail: str) -> None:
        """Write a record down."""
        self.records.append(Check(name, state, round(seconds, 3), detail))
        self._emit(Progress("smoke", len(self.records), len(self._names), "checks"))
