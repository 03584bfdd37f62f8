"""The closure: every need of every library, and what the loader will make of it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from vvbuild.linking.above import with_those_above
from vvbuild.linking.edge import Edge, fits
from vvbuild.linking.linkage import Linkage, Need
from vvbuild.linking.search import Layout, candidates
from vvbuild.model.loading import LoadingTable, OpenedRow, matches


@dataclass(frozen=True)
class Closure:
    """The libraries of a bundle by path, and all their needs."""

    libraries: Mapping[str, Linkage]
    edges: tuple[Edge, ...]

    @cached_property
    def _by_user(self) -> dict[str, list[Edge]]:
        found: dict[str, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.user, []).append(edge)
        return found

    def of(self, path: str) -> tuple[Edge, ...]:
        """What one library needs."""
        return tuple(self._by_user.get(path, ()))

    def reached(self, path: str) -> frozenset[str]:
        """The libraries of the bundle that one brings along, itself included."""
        seen, waiting = {path}, [path]
        while waiting:
            for edge in self.of(waiting.pop()):
                if edge.path is not None and edge.path not in seen:
                    seen.add(edge.path)
                    waiting.append(edge.path)
        return frozenset(seen)


def close(libraries: Iterable[Linkage], layout: Layout, table: LoadingTable) -> Closure:
    """Resolve every need of every library."""
    known = {library.path: library for library in libraries}
    preloaded = dict(_preloaded(known.values(), layout, table))
    edges = [
        _resolve(library, need, known, layout, table, preloaded)
        for library in known.values()
        for need in _needs(library, layout, table)
    ]
    # What one library hands down may let it bring along another one, which hands down in turn.
    while (more := with_those_above(edges, known, layout)) != edges:
        edges = more
    return Closure(known, tuple(edges))


def _preloaded(
    libraries: Iterable[Linkage], layout: Layout, table: LoadingTable
) -> Iterator[tuple[str, str]]:
    """The name and path of what is loaded from the program's folder before anything asks."""
    home = posixpath.dirname(layout.program)
    for library in libraries:
        folder, name = posixpath.split(library.path)
        for row in table.preloaded:
            if folder == home and library.os in row.os and matches(library.os, name, row.names):
                yield library.name, library.path


def _needs(library: Linkage, layout: Layout, table: LoadingTable) -> Iterator[Need]:
    """What its headers ask for, what its bytes show, and what a table says that it opens."""
    rows = [row for row in table.asks if row.needed and row.is_about(library.name)]
    for need in library.needs:
        if need.how == "weak" and any(row.tells_of(need.name) for row in rows):
            yield replace(need, how="opened")
        else:
            yield need
    asked = {need.name for need in library.needs}
    for row in table.opened:
        if row.os == library.os and matches(row.os, library.name, [row.by]):
            for name in row.names:
                for each in _those(name, row, layout):
                    if each not in asked:
                        yield Need(each, "opened" if row.needed else "weak", row.source)


def _those(name: str, row: OpenedRow, layout: Layout) -> list[str]:
    """Of a glob what is there; one that is needed and fits nothing is told as it stands."""
    if "*" not in name:
        return [name]
    found = [each for each in layout.names if matches(row.os, each, [name])]
    return found or ([name] if row.needed else [])


def _resolve(
    library: Linkage,
    need: Need,
    known: Mapping[str, Linkage],
    layout: Layout,
    table: LoadingTable,
    preloaded: Mapping[str, str],
) -> Edge:
    ignore_case = library.os == "win"
    for candidate in candidates(library, need.name, layout, table):
        path = layout.at(candidate, ignore_case=ignore_case)
        if path is not None and fits(library, known.get(path)):
            return Edge(library.path, need, "bundle", path)
    if need.name in preloaded:
        return Edge(library.path, need, "bundle", preloaded[need.name])
    if (giver := table.giver(library.os, need.name)) is not None:
        return Edge(library.path, need, giver)
    name = posixpath.basename(need.name)
    for path in layout.named(name, ignore_case=ignore_case):
        if fits(library, known.get(path)):
            return Edge(library.path, need, "elsewhere", path)
    return Edge(library.path, need, "missing")
