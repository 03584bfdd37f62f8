"""Failures as documents."""

from __future__ import annotations

from vvbuild.errors import ExitStatus, VvbuildError
from vvbuild.report.document import Block, Line, Pairs


def error_blocks(error: VvbuildError) -> tuple[Block, ...]:
    """What happened, the facts around it, and what to do next."""
    blocks: list[Block] = [Line(f"error[{error.code}]: {error.message}", "bad")]
    short = tuple((key, value) for key, value in error.context.items() if "\n" not in value)
    if short:
        blocks.append(Pairs(tuple((f"  {key}", value) for key, value in short)))
    for key, value in error.context.items():
        if "\n" in value:
            indented = value.replace("\n", "\n    ")
            blocks.append(Line(f"  {key}:\n    {indented}", "dim"))
    if error.hint:
        blocks.append(Line(f"  → {error.hint}"))
    if error.exit_status is ExitStatus.BUG:
        blocks.append(Line("  This is a fault of vvbuild. Please report it with the lines above."))
    return tuple(blocks)
