"""Where symbolic links inside a bundle lead."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

# Linux itself follows forty links of one path.
_MOST_HOPS = 40


def aim(path: str, link: str) -> str:
    """Where the link at ``path`` points, from the bundle's root; outside, it begins with ``..``."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))


def leaves(where: str) -> bool:
    """Whether a path from the root leads out of the bundle."""
    return where.startswith(("/", "../")) or where == ".."


def followed(where: str, links: Mapping[str, str]) -> str | None:
    """The path that a path leads to through links, of directories too; ``None`` for a loop.

    ``links`` are all of the bundle: path → what is written in it.
    """
    for _ in range(_MOST_HOPS):
        ends = [end for end, each in enumerate(f"{where}/") if each == "/"]
        link = next((where[:end] for end in ends if where[:end] in links), None)
        if link is None:
            return where
        rest = where[len(link) :].lstrip("/")
        where = posixpath.normpath(posixpath.join(posixpath.dirname(link), links[link], rest))
    return None
