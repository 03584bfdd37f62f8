"""The closure: every need of every library, and what the loader will make of it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from vvbuild.linking.linkage import Linkage, Need
from vvbuild.linking.search import Layout, candidates
from vvbuild.model.loading import LoadingTable, OpenedRow, matches

# `elsewhere`: it lies in the bundle, where this loader does not look for it.
Place = Literal["bundle", "system", "driver", "redistributable", "elsewhere", "missing"]


@dataclass(frozen=True, slots=True)
class Edge:
    """A need of the library at ``user``, and where it ends: ``path`` is in the bundle."""

    user: str
    need: Need
    place: Place
    path: str | None = None


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
    preloaded = {
        library.name
        for library in known.values()
        for row in table.preloaded
        if library.os in row.os and matches(library.os, posixpath.basename(library.path), row.names)
    }
    edges = [
        _resolve(library, need, known, layout, table, preloaded)
        for library in known.values()
        for need in (*library.needs, *_opened(library, layout, table.opened))
    ]
    return Closure(known, tuple(edges))


def _opened(library: Linkage, layout: Layout, rows: Iterable[OpenedRow]) -> Iterator[Need]:
    """What a table says that a library opens by name; of a glob, what is there."""
    asked = {need.name for need in library.needs}
    for row in rows:
        if row.os != library.os or not matches(row.os, library.name, [row.by]):
            continue
        for name in row.names:
            if "*" in name:
                known = {path.rpartition("/")[2] for path in layout.files}
                found = [each for each in sorted(known) if matches(row.os, each, [name])]
            else:
                found = [name]
            # Nothing fits a glob: it is told as it stands.
            for each in found or [name]:
                if each not in asked:
                    yield Need(each, "opened" if row.needed else "weak", row.source)


def _resolve(
    library: Linkage,
    need: Need,
    known: Mapping[str, Linkage],
    layout: Layout,
    table: LoadingTable,
    preloaded: set[str],
) -> Edge:
    ignore_case = library.os == "win"
    for candidate in candidates(library, need.name, layout, table):
        path = layout.at(candidate, ignore_case=ignore_case)
        if path is not None and _fits(library, known.get(path)):
            return Edge(library.path, need, "bundle", path)
    if need.name in preloaded:
        path = next(it.path for it in known.values() if it.name == need.name)
        return Edge(library.path, need, "bundle", path)
    if (giver := table.giver(library.os, need.name)) is not None:
        return Edge(library.path, need, giver)
    name = posixpath.basename(need.name)
    for path in layout.named(name, ignore_case=ignore_case):
        if _fits(library, known.get(path)):
            return Edge(library.path, need, "elsewhere", path)
    return Edge(library.path, need, "missing")


def _fits(library: Linkage, found: Linkage | None) -> bool:
    """Whether a loader would take a file: one for another processor it passes by."""
    return found is not None and (found.os, found.arch) == (library.os, library.arch)
