"""Documents on a terminal, in colour."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vvbuild.report.document import Block, Line, Pairs, Raw, Table
from vvbuild.report.plain import column_widths, display_width, fit, line_texts
from vvbuild.report.sanitize import clean

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {
    "": "",
    "good": "green",
    "bad": "bold red",
    "warn": "yellow",
    "dim": "dim",
    "bold": "bold",
}


def show(blocks: Iterable[Block], console: Console) -> None:
    """Print blocks with rich; all text is taken literally, never as markup."""
    from rich.text import Text

    first = True
    for block in blocks:
        if not first and not isinstance(block, (Line, Raw)):
            console.print()
        first = False
        if isinstance(block, Line):
            console.print(Text("\n".join(line_texts(block, console.width)), STYLES[block.style]))
        elif isinstance(block, Raw):
            console.print(Text(clean(block.text)), soft_wrap=True)
        elif isinstance(block, Pairs):
            rows = [(clean(name), clean(value)) for name, value in block.rows]
            longest = max((display_width(name) for name, _ in rows), default=0)
            for name, value in rows:
                console.print(Text(fit(name, longest), "dim"), Text(value))
        else:
            _show_table(block, console)


def _show_table(table: Table, console: Console) -> None:
    from rich.text import Text

    cleaned = Table(
        table.columns,
        tuple(tuple(clean(cell) for cell in row) for row in table.rows),
        table.right,
        table.shrink,
    )
    widths = column_widths(cleaned, console.width)
    for number, row in enumerate((cleaned.columns, *cleaned.rows)):
        cells = (
            fit(cell, width, right=index in table.right)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        text = Text("  ".join(cells).rstrip(), "bold" if number == 0 else "")
        console.print(text, no_wrap=True, overflow="ellipsis", crop=True)
