"""Words that several views form alike."""

from __future__ import annotations

from collections.abc import Sequence


def spans(names: Sequence[str], order: Sequence[str]) -> str:
    """Names as they stand in ``order``; three or more in a row as first … last."""
    runs: list[list[str]] = []
    for name in names:
        if runs and order.index(name) == order.index(runs[-1][-1]) + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(f"{run[0]} … {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)
