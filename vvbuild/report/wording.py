"""Words that several views form alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_GITHUB = "https://github.com"
_ISSUE = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")
_REPOSITORY = re.compile(r"([\w.-]+/[\w.-]+), .+")
_ADDRESS = re.compile(r"https://[\w.~:/?#\[\]@!$&'()*+,;=%-]+", re.ASCII)


def spans(names: Sequence[str], order: Sequence[str]) -> str:
    """Names as they stand in ``order``; three or more in a row as first … last."""
    runs: list[list[str]] = []
    for name in names:
        if runs and order.index(name) == order.index(runs[-1][-1]) + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(f"{run[0]} … {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def source_address(source: str) -> str | None:
    """Where a reason can be read on the web: an address, ``owner/repo#1``, ``owner/repo, place``.

    GitHub forwards the number of a pull request from the address of an issue.
    """
    if _ADDRESS.fullmatch(source):
        return source
    if found := _ISSUE.fullmatch(source):
        return f"{_GITHUB}/{found[1]}/issues/{found[2]}"
    if found := _REPOSITORY.fullmatch(source):
        return f"{_GITHUB}/{found[1]}"
    return None


def short_path(path: str | None, base: Path) -> str | None:
    """A path, also with a line behind it, as it reads from ``base``, with forward slashes."""
    if path is None:
        return None
    return path.replace("\\", "/").removeprefix(f"{base.as_posix()}/")
