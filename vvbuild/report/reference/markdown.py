"""The little Markdown that the reference pages are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from vvbuild.report.wording import source_address

# reStructuredText's inline marks, as docstrings hold them.
_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")
_LITERAL = re.compile(r"``([^`]+)``")
_CODE = re.compile(r"(`[^`]*`)")


def page(title: str, paragraphs: Iterable[str]) -> str:
    """A whole page; ``paragraphs`` are separated by empty lines."""
    head = "<!-- Written by `nox -s docs` from the code. Edits here are lost. -->"
    return "\n\n".join([head, f"# {title}", *paragraphs]) + "\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a vertical bar in a cell is escaped, also in code, as GitHub wants it.

    A cell is one line: other white space than single blanks is lost.
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(_cell(each) for each in line) + " |" for line in lines)


def code(text: str) -> str:
    """Text in the form of code; nothing for an empty one."""
    return f"`{text}`" if text else ""


def prose(docstring: str | None) -> str:
    """A docstring's first paragraph as one line of Markdown."""
    first = (docstring or "").strip().split("\n\n")[0]
    line = " ".join(first.split())
    return plain(_LITERAL.sub(r"`\1`", _ROLE.sub(r"`\1`", line)))


def plain(text: str) -> str:
    """Text that is not HTML: angle brackets outside of code are shown."""
    parts = _CODE.split(text)
    parts[::2] = [part.replace("&", "&amp;").replace("<", "&lt;") for part in parts[::2]]
    return "".join(parts)


def source_link(source: str) -> str:
    """Where a reason can be read; ``owner/repo#1`` and ``owner/repo, place`` become links."""
    address = source_address(source)
    # Renderers of Markdown make a link of a bare address themselves.
    if address is None or address == source:
        return plain(source)
    linked, comma, place = source.partition(", ")
    return f"[{linked}]({address}){comma}{plain(place)}"


def anchor(heading: str) -> str:
    """The fragment by which GitHub links to a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
