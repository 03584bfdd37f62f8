"""What rules see of a bundle's data: its JSON files, its voice models, how it is packed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON file of a bundle: its value, or ``problem``, why it has none."""

    value: object = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Style:
    """A style of a character in a voice model; ``type`` is upstream's word (``talk``)."""

    id: int
    type: str


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a voice model says of itself.

    ``format`` is its ``vvm_format_version``; ``characters`` maps a character's uuid to its
    styles. ``problem`` says why nothing can be read.
    """

    format: int | None = None
    characters: Mapping[str, tuple[Style, ...]] | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class PackedFacts:
    """The archive that a bundle came in.

    ``kind`` is ``vvpp``, ``zip``, ``7z`` or ``tar``. ``parts`` are its files, name → size in
    bytes. ``keeps_modes`` tells whether it says any modes. ``unmarked_names`` are members whose
    names are not ASCII and not marked as UTF-8 (only a zip can leave that open). ``listed`` are
    the names in the list file beside it, ``None`` without one; ``rivals`` are files beside it
    that are the same archive in another form.
    """

    kind: str
    parts: Mapping[str, int]
    keeps_modes: bool = True
    unmarked_names: tuple[str, ...] = ()
    listed: tuple[str, ...] | None = None
    rivals: tuple[str, ...] = ()
