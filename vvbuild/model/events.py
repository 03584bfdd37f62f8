"""What the core tells while it works. Renderers in ``report/`` listen; the core never prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step of a plan begins to work."""

    step: str


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A step is done; ``cached`` when nothing had to be done. ``seconds`` is wall time."""

    step: str
    cached: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` of ``total`` units of one task; ``total`` is ``None`` where nobody knows it.

    ``unit`` is ``"bytes"`` or a plural noun such as ``"files"``.
    """

    task: str
    done: int
    total: int | None
    unit: str = "bytes"


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence worth reading; ``level`` orders it for ``-q`` and ``-v``."""

    text: str
    level: str = "info"


Event: TypeAlias = StepStarted | StepFinished | Progress | Note
Emit: TypeAlias = Callable[[Event], None]


def silent(event: Event) -> None:
    """Ignore every event."""
