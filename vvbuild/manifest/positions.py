"""Which line of a TOML file holds which key.

``tomllib`` tells no positions, and a finding without a line sends people searching.
"""

from __future__ import annotations

import json
import re

Path = tuple[str | int, ...]

_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|'[^']*')"""
_HEADER = re.compile(r"^\s*(\[\[|\[)\s*(.+?)\s*(?:\]\]|\])\s*(?:#.*)?$")
_KEY = re.compile(rf"^\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")
_PART = re.compile(_NAME)
_TOKEN = re.compile(r'''"""|\'\'\'|"(?:\\.|[^"\\])*"|'[^']*'|[#\[\]{}]''')
_ENDS = {
    '"""': re.compile(r'(?:\\.|[^\\])*?"{3,5}'),
    "'''": re.compile(r".*?'{3,5}"),
}


def key_lines(text: str) -> dict[Path, int]:
    """Map each key's path (names and list indices) to its line, counted from 1.

    Meant for pointing, not for parsing: the text is known to be TOML; inline tables and the
    items of arrays are found at the line of the key that holds them.
    """
    lines: dict[Path, int] = {(): 1}
    implied: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    value = _Value()
    # Not splitlines(), which knows more line ends than TOML does.
    for number, line in enumerate(text.split("\n"), 1):
        if value.is_open:
            value.read(line)
            continue
        if header := _HEADER.match(line):
            path = table = _open_table(header, counts)
        elif key := _KEY.match(line):
            path = table + _parts(key.group(1))
            value.read(line[key.end() :])
        else:
            continue
        lines.setdefault(path, number)
        for length in range(1, len(path)):
            implied.setdefault(path[:length], number)
    return implied | lines


def line_of(lines: dict[Path, int], path: Path) -> int:
    """The line of ``path``, or of the nearest key above it."""
    while path not in lines:
        path = path[:-1]
    return lines[path]


class _Value:
    """What of a value goes on in the next line: an array, or a long string."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""

    @property
    def is_open(self) -> bool:
        return self._depth > 0 or self._quote != ""

    def read(self, text: str) -> None:
        at = 0
        while at < len(text):
            pattern = _ENDS[self._quote] if self._quote else _TOKEN
            token = pattern.match(text, at) if self._quote else pattern.search(text, at)
            if token is None or token[0] == "#":
                return
            at = token.end()
            if self._quote:
                self._quote = ""
            elif token[0] in _ENDS:
                self._quote = token[0]
            else:
                self._depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)


def _open_table(header: re.Match[str], counts: dict[Path, int]) -> Path:
    path: Path = ()
    *parents, name = _parts(header.group(2))
    for parent in parents:
        path += (parent,)
        if path in counts:
            path += (counts[path],)
    path += (name,)
    if header.group(1) == "[[":
        counts[path] = counts.get(path, -1) + 1
        path += (counts[path],)
    return path


def _parts(dotted: str) -> Path:
    return tuple(_unquoted(part) for part in _PART.findall(dotted))


def _unquoted(part: str) -> str:
    if part.startswith('"'):
        try:
            return str(json.loads(part))
        except ValueError:
            # TOML knows a few escapes more than JSON.
            return part[1:-1]
    return part[1:-1] if part.startswith("'") else part
