"""What a library gets since those that brought it along were loaded before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from vvbuild.linking.edge import Edge, fits
from vvbuild.linking.linkage import Linkage
from vvbuild.linking.search import Layout, handed_down


def with_those_above(
    edges: Iterable[Edge], known: Mapping[str, Linkage], layout: Layout
) -> list[Edge]:
    """The same edges; what a library's own search does not meet may be met from above.

    Loaders keep what is loaded, and go by its name: where cuBLAS and cuBLASLt are both needed
    by a provider that finds them, cuBLAS need not find the other one. And what a library says of
    where to look counts, in part, for all that it brings along. One library above that does
    either is enough here, though another may come first.
    """
    edges = list(edges)
    users: dict[str, list[str]] = {}
    found: dict[tuple[str, str], str] = {}
    for edge in edges:
        if edge.place == "bundle" and edge.path is not None:
            users.setdefault(edge.path, []).append(edge.user)
            if edge.need.hard:
                found[edge.user, _key(known[edge.user], edge.need.name)] = edge.path
    return [
        replace(edge, place="bundle", path=path)
        if edge.place == "elsewhere"
        and (path := _from_above(edge, users, found, known, layout)) is not None
        else edge
        for edge in edges
    ]


def _from_above(
    edge: Edge,
    users: Mapping[str, list[str]],
    found: Mapping[tuple[str, str], str],
    known: Mapping[str, Linkage],
    layout: Layout,
) -> str | None:
    library, name = known[edge.user], edge.need.name
    for above in _above(edge.user, users):
        path = found.get((above, _key(known[above], name)))
        if path is not None and fits(library, known[path]):
            return path
        for candidate in handed_down(known[above], library, name, layout):
            path = layout.at(candidate, ignore_case=library.os == "win")
            if path is not None and fits(library, known.get(path)):
                return path
    return None


def _above(path: str, users: Mapping[str, list[str]]) -> Iterator[str]:
    """Those who bring a library along, and those who bring these, the nearest first."""
    seen, waiting = {path}, [path]
    for each in waiting:
        for user in users.get(each, ()):
            if user not in seen:
                seen.add(user)
                waiting.append(user)
                yield user


def _key(library: Linkage, name: str) -> str:
    return name.lower() if library.os == "win" else name
