"""The arithmetic of resuming: what is there, what to ask for, and whether an answer fits."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ContentRange:
    """Which bytes a part holds: ``first`` and ``last`` count from 0; ``total`` of the whole."""

    first: int
    last: int
    total: int | None

    @classmethod
    def parse(cls, text: str | None) -> ContentRange | None:
        """Read a ``Content-Range`` header; ``None`` for what makes no sense."""
        match = _CONTENT_RANGE.fullmatch((text or "").strip())
        if match is None:
            return None
        first, last = int(match[1]), int(match[2])
        total = None if match[3] == "*" else int(match[3])
        if last < first or (total is not None and last >= total):
            return None
        return cls(first, last, total)


def validator(headers: Mapping[str, str]) -> str | None:
    """What names exactly these bytes: a strong ``ETag``, else ``Last-Modified`` (RFC 9110 §13.1.5).

    A weak ETag names only something similar, and ``If-Range`` must not hold one.
    """
    etag = headers.get("etag", "")
    if etag.startswith('"'):
        return etag
    return headers.get("last-modified")


def is_strong(known: str | None) -> bool:
    """Whether a validator is an ETag: only then several connections surely mean one file."""
    return known is not None and known.startswith('"')


def range_headers(offset: int, known: str | None, end: int | None = None) -> dict[str, str]:
    """Ask for the bytes from ``offset`` on, if they are still those that ``known`` names.

    ``end`` is where to stop, exclusive. Without a validator the range is asked for alone; then
    only the digest of the whole tells whether the parts belong together.
    """
    headers = {"Range": f"bytes={offset}-{'' if end is None else end - 1}"}
    if known is not None:
        headers["If-Range"] = known
    return headers


class Spans:
    """A set of byte positions as intervals ``(first, end)``, sorted, apart from each other."""

    def __init__(self, spans: Iterable[tuple[int, int]] = ()) -> None:
        self._spans: list[tuple[int, int]] = []
        self.total = 0
        for first, end in spans:
            self.add(first, end)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._spans)

    @property
    def front(self) -> int:
        """How many bytes are there from the first one on without a hole."""
        return self._spans[0][1] if self._spans and self._spans[0][0] == 0 else 0

    @property
    def end(self) -> int:
        """Behind the last byte that is there."""
        return self._spans[-1][1] if self._spans else 0

    def add(self, first: int, end: int) -> None:
        """Add an interval, which may overlap what is there."""
        if first >= end:
            return
        spans = self._spans
        low = bisect_right(spans, (first,))
        if low and spans[low - 1][1] >= first:
            low -= 1
        high = low
        while high < len(spans) and spans[high][0] <= end:
            high += 1
        taken = spans[low:high]
        if taken:
            first, end = min(first, taken[0][0]), max(end, taken[-1][1])
        spans[low:high] = [(first, end)]
        self.total += end - first - sum(last - begin for begin, last in taken)

    def gaps(self, size: int) -> Iterator[tuple[int, int]]:
        """The intervals that are missing from a whole of ``size`` bytes."""
        at = 0
        for first, end in self._spans:
            if at < first:
                yield at, first
            at = end
        if at < size:
            yield at, size


def cut(gaps: Iterable[tuple[int, int]], most: int) -> Iterator[tuple[int, int]]:
    """Cut intervals into pieces of ``most`` bytes; the last of each may be shorter."""
    for first, end in gaps:
        for begin in range(first, end, most):
            yield begin, min(begin + most, end)
