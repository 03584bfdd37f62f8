"""Views of the store."""

from __future__ import annotations

from vvbuild.fetch.housekeeping import Usage
from vvbuild.report.document import Block, Line, Table, View

_MEANING = {
    "files": "files by SHA-256",
    "checkouts": "trees laid out for use, links to files",
    "trees": "lists of files",
    "records": "what each step made",
    "uv": "uv's own cache of Python packages",
    "pythons": "identities of Pythons",
    "locks": "locks",
    "work": "scratch of running builds",
}


def usage_view(usage: Usage) -> View:
    """Where the store lies and what fills it."""
    rows = tuple(
        (part.name, f"{part.files:,}", str(part.size), _MEANING.get(part.name, ""))
        for part in usage.parts
    )
    table = Table(("part", "files", "own size", "what"), rows, right=(1, 2), shrink=3)
    blocks: tuple[Block, ...] = (
        Line(f"{usage.root}: {usage.size}", "bold"),
        *((table,) if rows else ()),
    )
    return View(_data(usage), blocks)


def cleaned_view(usage: Usage) -> View:
    """What was deleted."""
    return View(_data(usage), (Line(f"Deleted {usage.size} from {usage.root}.", "good"),))


def _data(usage: Usage) -> dict[str, object]:
    return {
        "root": str(usage.root),
        "size": usage.size,
        "parts": [{"name": it.name, "files": it.files, "size": it.size} for it in usage.parts],
    }
