"""What a command has to say, before anybody decides how it looks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Style = Literal["", "good", "bad", "warn", "dim", "bold"]


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence of its own."""

    text: str
    style: Style = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings; ``right`` holds the columns that hold numbers.

    The column ``shrink`` gives way where the terminal is narrow.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    shrink: int | None = None


@dataclass(frozen=True, slots=True)
class Pairs:
    """Names with values, one a line."""

    rows: tuple[tuple[str, str], ...]


Block: TypeAlias = Line | Table | Pairs


@dataclass(frozen=True, slots=True)
class View:
    """A command's result for people (``blocks``) and for programs (``data``)."""

    data: dict[str, object]
    blocks: tuple[Block, ...] = field(default=())
    status: int = 0
