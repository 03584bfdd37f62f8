"""Which of two versions is the newer one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from vvbuild.model.policy import Series

Scheme = Literal["python", "plain"]

# The first number has no zero in front: `015.0-preview.1` is a slip of the pen, not version 15.
_PLAIN = re.compile(
    r"(?P<numbers>(?:0|[1-9]\d{0,8})(?:\.\d{1,9}){0,7})"
    # As semver.org writes a pre-release, or as Python does.
    r"(?P<marker>-[0-9A-Za-z]+(?:[.-][0-9A-Za-z]+)*"
    r"|[._]?(?:alpha|a|beta|b|preview|pre|rc|c|dev|nightly)[.-]?\d{0,12})?"
    # What stands behind a plus tells builds apart and orders nothing.
    r"(?:\+[0-9A-Za-z]+(?:[.-][0-9A-Za-z]+)*)?",
    re.ASCII | re.IGNORECASE,
)
_TOKEN = re.compile(r"\d+|[a-z]+")
_LONGEST = 64
_KEPT = {"patch": 2, "minor": 1, "major": 0}


@dataclass(frozen=True, slots=True)
class Ranked:
    """A version with its place among others of the same scheme.

    Two versions of one rank are the same version in two spellings (``1.0`` and ``1.0.0``).
    """

    text: str
    key: tuple[Any, ...]
    numbers: tuple[int, ...]
    prerelease: bool

    def newer_than(self, other: Ranked) -> bool:
        """Whether it comes after another one."""
        return self.key > other.key

    def within(self, series: Series, of: Ranked) -> bool:
        """Whether it agrees with ``of`` in the numbers that a series keeps."""
        kept = _KEPT[series]
        return _padded(self.numbers, kept) == _padded(of.numbers, kept)


def rank(text: str, scheme: Scheme) -> Ranked | None:
    """Read a version; ``None`` for what is none (a branch, a moving tag, a misspelling).

    ``python`` is PEP 440. ``plain`` is numbers, then perhaps a pre-release marker
    (``-preview.0``, ``-dev``, ``rc1``), compared as semver.org says: number by number, a
    pre-release before its version, markers part by part, numbers in them as numbers.
    """
    if len(text) > _LONGEST:
        return None
    return _python(text) if scheme == "python" else _plain(text)


def _python(text: str) -> Ranked | None:
    from packaging.version import InvalidVersion, Version

    try:
        version = Version(text)
    except InvalidVersion:
        return None
    return Ranked(text, (version,), version.release, version.is_prerelease)


def _plain(text: str) -> Ranked | None:
    found = _PLAIN.fullmatch(text)
    if found is None:
        return None
    numbers = tuple(int(part) for part in found["numbers"].split("."))
    marker = (found["marker"] or "").lower()
    tokens = tuple(
        (0, int(token), "") if token.isdigit() else (1, 0, token)
        for token in _TOKEN.findall(marker)
    )
    return Ranked(text, (_without_zeros(numbers), not marker, tokens), numbers, bool(marker))


def _without_zeros(numbers: tuple[int, ...]) -> tuple[int, ...]:
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers = numbers[:-1]
    return numbers


def _padded(numbers: tuple[int, ...], length: int) -> tuple[int, ...]:
    return (numbers + (0,) * length)[:length]
