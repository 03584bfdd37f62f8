"""Libraries as loaders see them, without files: a path, what it needs, where it looks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vvbuild.linking.closure import Closure, close
from vvbuild.linking.linkage import How, Linkage, Need
from vvbuild.linking.search import Layout
from vvbuild.manifest.bytes import bytes_tables
from vvbuild.model.loading import LoadingTable
from vvbuild.model.target import Os

TABLE = bytes_tables().loading
# Without rows for what systems bring, or what is opened by name.
BARE = LoadingTable(
    schema="vvbuild.bytes.loading/1",
    given=[], preloaded=[], trusted=[], folders=[], opened=[], asks=[],
)  # fmt: skip


def library(
    path: str,
    *needs: str | tuple[str, How],
    os: Os = "linux",
    arch: str = "x64",
    name: str | None = None,
    search: Iterable[str] = (),
    before: bool = False,
) -> Linkage:
    """A library that needs others by name, hard if nothing else is said."""
    asked = [Need(*each) if isinstance(each, tuple) else Need(each, "load") for each in needs]
    own = name or path.rpartition("/")[2]
    return Linkage(path, os, arch, own, tuple(asked), tuple(search), before=before)


def closure(
    *libraries: Linkage,
    links: Mapping[str, str] | None = None,
    program: str = "run",
    contents: str = "engine_internal",
    program_search: Iterable[str] = (),
    table: LoadingTable = TABLE,
) -> Closure:
    """The closure of a bundle that holds nothing else."""
    paths = {each.path for each in libraries} | {program}
    layout = Layout(
        frozenset(paths) | frozenset(links or {}), links or {}, program, contents,
        tuple(program_search),
    )  # fmt: skip
    return close(libraries, layout, table)


def ends(found: Closure, path: str) -> dict[str, str]:
    """Name → the path in the bundle, or in words where it is."""
    return {edge.need.name: _end(edge) for edge in found.of(path)}


def _end(edge: Any) -> str:
    return str(edge.path) if edge.place == "bundle" else str(edge.place)
