"""Versions and ranges of versions, compared by their numbers alone."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias

Numbers: TypeAlias = "tuple[int, ...]"

# A longer number would be cut into another one; \d alone would also take digits of other scripts.
_NUMBERS = re.compile(r"\d{1,9}(?!\d)(?:\.\d{1,9}(?!\d)){0,7}", re.ASCII)
_CLAUSE = re.compile(r"(>=|<=|==|>|<)\s*(\d{1,9}(?:\.\d{1,9}){0,7})", re.ASCII)
_COMPARE: dict[str, Callable[[Numbers, Numbers], bool]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_WIDTH = 8


@lru_cache(maxsize=4096)
def numbers(version: str) -> Numbers | None:
    """The numbers that a version begins with, zeros at the end cut off; ``None`` without any.

    What follows does not count: ``8.9.2.26_cuda11`` is 8.9.2.26, and a preview its release.
    """
    found = _NUMBERS.match(version)
    if found is None:
        return None
    parts = [int(part) for part in found[0].split(".")]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def major(version: str) -> int | None:
    """The first number."""
    found = numbers(version)
    return found[0] if found else None


def series(version: str) -> Numbers | None:
    """The first two numbers: ``0.16`` of ``0.16.2``."""
    found = numbers(version)
    return (*found, 0)[:2] if found else None


@lru_cache(maxsize=1024)
def clauses(text: str) -> tuple[tuple[str, str], ...]:
    """A range such as ``>=1.13,<1.15`` as pairs of a comparison and a version.

    Raises ``ValueError`` for anything else.
    """
    pairs = []
    for part in text.split(","):
        found = _CLAUSE.fullmatch(part.strip())
        if found is None:
            raise ValueError(f"expected a range of versions such as >=1.13,<1.15, got {text!r}")
        pairs.append((found[1], found[2]))
    return tuple(pairs)


@lru_cache(maxsize=16384)
def within(version: str, text: str) -> bool:
    """Whether a version lies in a range; one without numbers lies in none."""
    found = numbers(version)
    return found is not None and _lies(_wide(found), text)


def gaps(text: str, others: Sequence[str]) -> bool:
    """Whether some version lies in a range and in none of ``others``.

    Raises ``ValueError`` for what is no range.
    """
    bounds = {_wide(numbers(end) or ()) for each in (text, *others) for _, end in clauses(each)}
    # Between two ends that follow each other nothing changes, so one version there tells of all.
    places = [(0,) * _WIDTH, *bounds, *((*each[:-1], each[-1] + 1) for each in bounds)]
    return any(
        _lies(place, text) and not any(_lies(place, each) for each in others) for place in places
    )


def _lies(found: Numbers, text: str) -> bool:
    return all(_COMPARE[sign](found, _wide(numbers(end) or ())) for sign, end in clauses(text))


def older(version: str, than: str) -> bool:
    """Whether a version is below another one; ``False`` where one of them has no numbers."""
    left, right = numbers(version), numbers(than)
    return left is not None and right is not None and _wide(left) < _wide(right)


def _wide(found: Numbers) -> Numbers:
    return (*found, *(0,) * (_WIDTH - len(found)))
