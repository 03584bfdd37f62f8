"""Ending when asked to."""

from __future__ import annotations

import signal
from types import FrameType


def exit_on_signals() -> None:
    """End with status 0 when asked to, before, while and after requests are served.

    uvicorn takes the signals over while it serves, and raises them again when it is done.
    """
    for name in ("SIGINT", "SIGTERM", "SIGBREAK"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, _exit)


def _exit(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)
