"""What a command has to say, before anybody decides how it looks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from vvbuild.model.finding import Finding

Style = Literal["", "good", "bad", "warn", "dim", "bold"]


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence of its own.

    With ``hang`` it is broken between words where it is longer than the page, and all but the
    first line begin with so many blanks.
    """

    text: str
    style: Style = ""
    hang: int | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """One line for a program, which no width breaks or cuts and no style colours."""

    text: str


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


Block: TypeAlias = Line | Raw | Table | Pairs


@dataclass(frozen=True, slots=True)
class Reported:
    """A finding with what it is about: a release, and a place that editors and GitHub know.

    ``file`` is relative, with forward slashes, and ``line`` counts from 1. Only a file
    ``in_checkout`` is one that GitHub can show; others lie in a bundle or in vvbuild itself.
    """

    finding: Finding
    release: str | None = None
    file: str | None = None
    line: int | None = None
    in_checkout: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """A command's result for people (``blocks``) and for programs (``data``).

    ``findings`` are what a command that judges has found, as far as it is shown.
    """

    data: dict[str, object]
    blocks: tuple[Block, ...] = field(default=())
    status: int = 0
    findings: tuple[Reported, ...] = ()
