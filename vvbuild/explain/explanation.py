"""An explanation: facts, each with where it can be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["rule", "error", "component"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A name with a value. ``of`` says which build it is about, ``versions`` which range."""

    name: str
    value: str
    source: str
    of: str = ""
    versions: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """What is needed, or what needs it: ``what`` says which versions, or on which condition.

    ``verdict`` is what the rules say of the two together, empty where nothing was judged.
    """

    component: str
    what: str
    source: str
    of: str = ""
    verdict: str = ""
    versions: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A release, and which of its targets are concerned; ``path`` is ``file:line`` there.

    ``text`` is the version that it pins, or what a rule finds in it; ``waived`` the reason why
    that is accepted.
    """

    release: str
    text: str
    targets: tuple[str, ...]
    every_target: bool
    path: str | None = None
    waived: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that is known of one name. ``remarks`` are what the tables do not know."""

    kind: Kind
    name: str
    summary: str
    version: str | None = None
    flavour: str | None = None
    remarks: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    needs: tuple[Relation, ...] = ()
    needed_by: tuple[Relation, ...] = ()
    releases: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Topic:
    """A name that can be explained, with a sentence."""

    kind: Kind
    name: str
    summary: str
