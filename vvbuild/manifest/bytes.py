"""Loading the tables that rules over bytes judge by, ``manifests/bytes/``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from vvbuild import resources
from vvbuild.manifest.decode import decode, read_document
from vvbuild.model.bytes import BytesTables
from vvbuild.model.content import ContentTable
from vvbuild.model.loading import LoadingTable, NvidiaTable
from vvbuild.model.row import Row
from vvbuild.model.runtimes import FloorsTable, RuntimesTable

TableT = TypeVar("TableT", bound=Row)

TABLES: Mapping[str, type[Row]] = {
    "content": ContentTable,
    "floors": FloorsTable,
    "loading": LoadingTable,
    "nvidia": NvidiaTable,
    "runtimes": RuntimesTable,
}
"""File name without ``.toml`` → its type."""


@resources.cached
def bytes_tables() -> BytesTables:
    """The tables, read once. Raises :class:`~vvbuild.errors.ManifestError`."""
    return BytesTables(
        content=_load("content", ContentTable),
        floors=_load("floors", FloorsTable),
        loading=_load("loading", LoadingTable),
        nvidia=_load("nvidia", NvidiaTable),
        runtimes=_load("runtimes", RuntimesTable),
    )


def _load(name: str, table: type[TableT]) -> TableT:
    return decode(read_document(resources.manifest_file(f"bytes/{name}.toml")), table)
