"""Which line of a TOML file holds which key.

``tomllib`` tells no positions, and a finding without a line sends people searching.
"""

from __future__ import annotations

import re

Path = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[|\[)\s*(.+?)\s*(\]\]|\])\s*(?:#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


def key_lines(text: str) -> dict[Path, int]:
    """Map each key's path (names and list indices) to its line, counted from 1.

    Meant for pointing, not for parsing: inline tables and the items of arrays are found at
    the line of the key that holds them.
    """
    lines: dict[Path, int] = {(): 1}
    counts: dict[Path, int] = {}
    table: Path = ()
    in_string: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if in_string is not None:
            in_string = None if in_string in line else in_string
            continue
        header = _HEADER.match(line)
        if header and "=" not in header.group(2).split('"')[0]:
            table = _open_table(header, counts)
            lines.setdefault(table, number)
            continue
        key = _KEY.match(line)
        if key:
            lines.setdefault(table + _parts(key.group(1)), number)
            in_string = _opens_string(line[key.end() :])
    return lines


def line_of(lines: dict[Path, int], path: Path) -> int:
    """The line of ``path``, or of the nearest key above it."""
    while path not in lines:
        path = path[:-1]
    return lines[path]


def _open_table(header: re.Match[str], counts: dict[Path, int]) -> Path:
    path: Path = ()
    for name in _parts(header.group(2)):
        path += (name,)
        if path in counts and (header.group(1) == "[" or path != _parts(header.group(2))):
            path += (counts[path],)
    if header.group(1) == "[[":
        counts[path] = counts.get(path, -1) + 1
        path += (counts[path],)
    return path


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))


def _opens_string(value: str) -> str | None:
    for quote in ('"""', "'''"):
        if value.count(quote) % 2 == 1:
            return quote
    return None
