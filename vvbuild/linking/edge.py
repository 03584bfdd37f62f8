"""What became of a need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vvbuild.linking.linkage import Linkage, Need

# `elsewhere`: it lies in the bundle, where this loader does not look for it.
Place = Literal["bundle", "system", "driver", "redistributable", "elsewhere", "missing"]


@dataclass(frozen=True, slots=True)
class Edge:
    """A need of the library at ``user``, and where it ends: ``path`` is in the bundle."""

    user: str
    need: Need
    place: Place
    path: str | None = None


def fits(library: Linkage, found: Linkage | None) -> bool:
    """Whether a loader would take a file: one for another processor it passes by."""
    return found is not None and (found.os, found.arch) == (library.os, library.arch)
