"""What waf prints: how far it is, and which of its many lines say why it failed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_PROGRESS = re.compile(r"\[\s*(\d+)/(\d+)\] ")
_BUILDING = re.compile(r"Waf: Entering directory ")
_OWN = re.compile(r"Waf: |Build failed$| -> task in ")
_MOST_LINES = 40
_LAST_WORDS = 5


def progress_of(line: str) -> tuple[int, int] | None:
    """``(done, total)`` of a line such as ``[ 7/32] Compiling src/pyi_main.c``."""
    match = _PROGRESS.match(line)
    return (int(match[1]), int(match[2])) if match else None


def failure_context(lines: Sequence[str], config_log: Path) -> dict[str, str]:
    """The lines to show for a failed build.

    ``compiler`` holds what compiler and linker said while the sources were built. If waf failed
    before that, it hides the reason behind a "no" or "not found", and only ``config.log`` has it.
    """
    starts = [number for number, line in enumerate(lines) if _BUILDING.match(line)]
    if starts:
        said = [line for line in lines[starts[-1] :] if line and not _own(line)]
        return {"compiler": _tail(said, _MOST_LINES)}
    context = {"last lines": _tail(lines, _LAST_WORDS)}
    if config_log.is_file():
        log = config_log.read_text("utf-8", "replace").splitlines()
        context["config.log"] = _tail(log, _MOST_LINES)
    return context


def _own(line: str) -> bool:
    return progress_of(line) is not None or _OWN.match(line) is not None


def _tail(lines: Sequence[str], most: int) -> str:
    return "\n".join(lines[-most:])
