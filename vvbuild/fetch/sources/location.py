"""Where a file is served."""

from __future__ import annotations

from dataclasses import dataclass

from vvbuild.model.digest import Digest


@dataclass(frozen=True, slots=True)
class Location:
    """The address of a file, without credentials, and what the index claims about it."""

    url: str
    sha256_hint: Digest | None = None
    size_hint: int | None = None
