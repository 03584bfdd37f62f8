"""Documents as plain text: for pipes, logs and terminals without colour."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from vvbuild.report.document import Block, Line, Pairs, Raw, Table
from vvbuild.report.sanitize import clean, clean_lines

_GAP = "  "
_WORD = re.compile(r"\s*\S+")


def render(blocks: Iterable[Block], width: int = 100) -> str:
    """The whole text, with a line end at its end unless it is empty."""
    lines: list[str] = []
    for block in blocks:
        if lines and not isinstance(block, (Line, Raw)):
            lines.append("")
        lines.extend(_lines(block, width))
    return "".join(f"{line.rstrip()}\n" for line in lines)


def display_width(text: str) -> int:
    """Columns that a terminal needs: East Asian wide characters take two."""
    return sum(map(_width, text))


def line_texts(line: Line, width: int) -> Iterator[str]:
    """The safe lines of a sentence, broken between words where it says so."""
    for text in clean_lines(line.text):
        if line.hang is None:
            yield text
        else:
            # Once more: a word that may not begin a line may do so now.
            yield from map(clean, _wrapped(text, width, " " * line.hang))


def _wrapped(text: str, width: int, indent: str) -> Iterator[str]:
    line = ""
    # Blanks before a word belong to it, so that columns at the start stay.
    for part in _WORD.findall(text):
        if line.strip() and display_width(line + part) > width:
            yield line
            line = indent + part.lstrip()
        else:
            line += part
    yield line


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def column_widths(table: Table, width: int) -> list[int]:
    """The width of each column, so that the table fits where it can."""
    widths = [display_width(name) for name in table.columns]
    for row in table.rows:
        widths = [max(old, display_width(cell)) for old, cell in zip(widths, row, strict=True)]
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    if excess > 0 and table.shrink is not None:
        widths[table.shrink] = max(12, widths[table.shrink] - excess)
    return widths


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Pad a cell, or cut it with an ellipsis."""
    if display_width(text) > width:
        text = _cut(text, width - 1) + "…"
    padding = " " * (width - display_width(text))
    return padding + text if right else text + padding


def _cut(text: str, width: int) -> str:
    used = 0
    for index, character in enumerate(text):
        used += _width(character)
        if used > width:
            return text[:index]
    return text


def _lines(block: Block, width: int) -> Iterator[str]:
    if isinstance(block, Line):
        yield from line_texts(block, width)
    elif isinstance(block, Raw):
        yield clean(block.text)
    elif isinstance(block, Pairs):
        rows = [(clean(name), clean(value)) for name, value in block.rows]
        longest = max((display_width(name) for name, _ in rows), default=0)
        for name, value in rows:
            yield f"{fit(name, longest)}{_GAP}{value}"
    else:
        widths = column_widths(_cleaned(block), width)
        yield _row(block.columns, widths, block)
        yield _row(["-" * each for each in widths], widths, block)
        for row in _cleaned(block).rows:
            yield _row(row, widths, block)


def _cleaned(table: Table) -> Table:
    rows = tuple(tuple(clean(cell) for cell in row) for row in table.rows)
    return Table(table.columns, rows, table.right, table.shrink)


def _row(cells: Sequence[str], widths: Sequence[int], table: Table) -> str:
    return _GAP.join(
        fit(cell, width, right=index in table.right)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
