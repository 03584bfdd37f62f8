"""Names of libraries that a library opens, found in its bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path

from vvbuild.binary.constants import constant_ranges
from vvbuild.model.loading import LoadingTable

_CHUNK = 4 << 20
# No name is longer.
_LONGEST = 256


def asked_names(path: Path, table: LoadingTable) -> tuple[str, ...]:
    """The names that the file has as strings, where a row says that it opens them by name.

    Few files have such a row: reading one costs time. A plain word is looked for first, which is
    forty times as fast as an expression with alternatives.
    """
    rows = [row for row in table.asks if row.is_about(path.name)]
    if not rows:
        return ()
    wanted = [
        (row.holds.encode(), re.compile(row.pattern.encode()), row.adds.encode()) for row in rows
    ]
    found: set[bytes] = set()
    with path.open("rb", buffering=0) as stream:
        # Two names' length of the last chunk comes before each, so that what lies across both is
        # seen with all that is around it, once.
        data, first = b"", 0
        for chunk in _pieces(stream, constant_ranges(path)):
            data += chunk
            last = len(data) - _LONGEST
            for word, pattern, adds in wanted:
                found.update(each + adds for each in _names(data, first, last, word, pattern))
            data, first = data[-2 * _LONGEST :], min(len(data), 2 * _LONGEST) - _LONGEST
        for word, pattern, adds in wanted:
            last = len(data)
            found.update(each + adds for each in _names(data, first, last, word, pattern))
    return tuple(sorted(each.decode("ascii", "replace") for each in found))


def _pieces(stream: FileIO, ranges: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """What lies in the ranges, a NUL behind each, so that no name goes on in the next one."""
    for offset, size in ranges:
        stream.seek(offset)
        while size > 0 and (chunk := stream.read(min(_CHUNK, size))):
            yield chunk
            size -= len(chunk)
        yield b"\0"


def _names(
    data: bytes, first: int, last: int, word: bytes, pattern: re.Pattern[bytes]
) -> Iterator[bytes]:
    """Names around the word where that begins from ``first`` on and before ``last``."""
    at = data.find(word, max(first, 0))
    while 0 <= at < last:
        start = max(0, at - _LONGEST)
        for match in pattern.finditer(data, start, at + _LONGEST):
            if match.start() <= at < match.end():
                yield match[0]
        at = data.find(word, at + len(word))
