"""The closure as a tree: who brings whom along, each library once with its own needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vvbuild.inspect.look import Inspection
from vvbuild.linking.edge import Edge


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of the drawing: how deep it stands, and what it shows.

    ``again`` says that its own needs stand elsewhere already.
    """

    depth: int
    name: str
    place: str
    how: str
    again: bool = False


def draw(inspection: Inspection) -> Iterator[Branch]:
    """The needs of the program, and of every library that nothing else in the tree needs."""
    edges: dict[str, list[Edge]] = {}
    for edge in inspection.edges:
        edges.setdefault(edge.user, []).append(edge)
    needed = {edge.path for edge in inspection.edges if edge.path is not None}
    tops = [path for path in sorted(edges) if path not in needed and path != inspection.root]
    roots = [inspection.root] if inspection.root is not None else []
    seen: set[str] = set()
    # What stands in a circle is needed by somebody, and reached from nowhere.
    for path in dict.fromkeys([*roots, *tops, *sorted(edges)]):
        if path not in seen:
            yield Branch(0, path, "", "")
            yield from _below(path, edges, seen, 1)


def _below(path: str, edges: dict[str, list[Edge]], seen: set[str], depth: int) -> Iterator[Branch]:
    seen.add(path)
    # Not by recursion: a chain may be as long as there are libraries.
    stack: list[tuple[Iterator[Edge], int]] = [(iter(edges.get(path, ())), depth)]
    while stack:
        needs, level = stack[-1]
        edge = next(needs, None)
        if edge is None:
            stack.pop()
            continue
        again = edge.path is not None and edge.path in seen and bool(edges.get(edge.path))
        yield Branch(level, edge.need.name, _place(edge), edge.need.how, again)
        if edge.path is not None and edge.path not in seen:
            seen.add(edge.path)
            stack.append((iter(edges.get(edge.path, ())), level + 1))


def _place(edge: Edge) -> str:
    if edge.path is not None:
        return edge.path if edge.place == "bundle" else f"not looked for where it lies: {edge.path}"
    return edge.place
