"""Loading the tables of what fits what."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from vvbuild import resources
from vvbuild.manifest.decode import Document, Problem, decode, nearest, read_document
from vvbuild.model.compat import (
    Compat,
    CoreTable,
    GpuTable,
    LibrariesTable,
    ModelsTable,
    OnnxRuntimeTable,
    PyInstallerTable,
    TroublesTable,
)
from vvbuild.model.row import Row
from vvbuild.model.target import ARCHES, DEVICES, OSES
from vvbuild.model.version import clauses, gaps, numbers

TableT = TypeVar("TableT", bound=Row)

TABLES: Mapping[str, type[Row]] = {
    "onnxruntime": OnnxRuntimeTable,
    "core": CoreTable,
    "additional-libraries": LibrariesTable,
    "models": ModelsTable,
    "pyinstaller": PyInstallerTable,
    "gpu": GpuTable,
    "troubles": TroublesTable,
}
"""File name without ``.toml`` → its type."""

_RANGES = ("versions", "python")
_RANGES_BY_NAME = ("downloads", "together")
# What is compared as a version, and so must be one.
_VERSIONS = (
    "version", "cuda", "cudnn", "directml", "built_with_cuda", "built_with_cudnn", "least",
    "shipped", "onnxruntime", "onnxruntime_least", "onnxruntime_most",
)  # fmt: skip
# Of these the first row that fits counts; rows of another one of these keys are no rivals.
_FIRST_ROW_COUNTS = ("cuda", "directml", "onnx", "core", "models", "pyinstaller")
_TARGETS = tuple(f"{os}-{arch}-{device}" for os in OSES for arch in ARCHES for device in DEVICES)


@resources.cached
def compat_tables() -> Compat:
    """The tables, read once. Raises :class:`~vvbuild.errors.ManifestError`."""
    return load_compat(*(each / "compat" for each in resources.manifest_dirs()))


def load_compat(*directories: Path) -> Compat:
    """The tables of a directory, and before its rows those of the directories before it.

    The first row that fits counts, so that a fork can say something else of a version; its
    tables may have any part of the last directory's.

    Raises :class:`~vvbuild.errors.ManifestError` that names file, line and what was expected.
    """

    def load(name: str, table: type[TableT]) -> TableT:
        paths = [each / f"{name}.toml" for each in directories]
        own = [read_document(path) for path in paths[:-1] if path.is_file()]
        documents = [*own, read_document(paths[-1])]
        for document in own:
            for key, rows in documents[-1].data.items():
                if isinstance(rows, list):
                    document.data.setdefault(key, [])
        loaded = [decode(document, table) for document in documents]
        known = [row["capability"] for each in documents for row in each.data.get("generation", [])]
        for document in documents:
            if problems := list(_table_problems(document, known)):
                raise document.error(problems)
        return _joined(loaded)

    return Compat(
        onnxruntime=load("onnxruntime", OnnxRuntimeTable),
        core=load("core", CoreTable),
        libraries=load("additional-libraries", LibrariesTable),
        models=load("models", ModelsTable),
        pyinstaller=load("pyinstaller", PyInstallerTable),
        gpu=load("gpu", GpuTable),
        troubles=load("troubles", TroublesTable),
    )


def _joined(tables: list[TableT]) -> TableT:
    """The last table with the rows of those before it first."""
    lists = {
        key: [row for table in tables for row in getattr(table, key)]
        for key in tables[-1].__struct_fields__
        if isinstance(getattr(tables[-1], key), list)
    }
    return msgspec.structs.replace(tables[-1], **lists)


def _table_problems(document: Document, capabilities: list[str]) -> Iterator[Problem]:
    tables = {name: rows for name, rows in document.data.items() if isinstance(rows, list)}
    broken = [
        problem
        for name, rows in tables.items()
        for index, row in enumerate(rows)
        for problem in _row_problems((name, index), row)
    ]
    yield from broken
    # Rows are compared by their ranges, so those must be right first.
    if not broken:
        for name, rows in tables.items():
            yield from _hidden_rows(name, rows)
    if "provider" in tables:
        yield from _unknown_capabilities(capabilities, tables["provider"])


def _row_problems(where: tuple[str, int], row: dict[str, Any]) -> Iterator[Problem]:
    for place, text in _ranges(row):
        if complaint := _complaint(text):
            yield (*where, *place), complaint
    for key in _VERSIONS:
        if isinstance(row.get(key), str) and numbers(row[key]) is None:
            yield (*where, key), f"expected a version such as 1.17.3, got {row[key]!r}"
    for os, text in row.get("cudnn_recommended", {}).items():
        if numbers(text) is None:
            yield (*where, "cudnn_recommended", os), f"expected a version, got {text!r}"
    for index, glob in enumerate(row.get("targets", [])):
        if not fnmatch.filter(_TARGETS, glob):
            yield (*where, "targets", index), f"{glob!r} matches no target that can be"
    python = row.get("python")
    if python and _complaint(python) is None and not any(s == "<" for s, _ in clauses(python)):
        yield (*where, "python"), "expected an end, such as <3.13: newer Pythons are refused"


def _ranges(row: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    yield from (((key,), row[key]) for key in _RANGES if key in row)
    for table in _RANGES_BY_NAME:
        yield from (((table, name), text) for name, text in row.get(table, {}).items())


def _complaint(text: str) -> str | None:
    try:
        return None if gaps(text, ()) else f"no version lies in {text!r}"
    except ValueError as error:
        return str(error)


def _hidden_rows(table: str, rows: list[dict[str, Any]]) -> Iterator[Problem]:
    """Rows that can never be the first that fits."""
    for index, row in enumerate(rows):
        above = rows[:index]
        if table == "libraries" and any(each["version"] == row["version"] for each in above):
            yield (table, index, "version"), f"{row['version']!r} stands twice"
        if table == "generation" and any(each["capability"] == row["capability"] for each in above):
            yield (table, index, "capability"), f"{row['capability']!r} stands twice"
        if table not in _FIRST_ROW_COUNTS:
            continue
        rivals = [each for each in above if each.get("flavour") == row.get("flavour")]
        if not gaps(row["versions"], tuple(each["versions"] for each in rivals)):
            hidden = "it can never be the first that fits: the rows above take all of"
            yield (table, index, "versions"), f"{hidden} {row['versions']!r}"


def _unknown_capabilities(known: list[str], providers: list[dict[str, Any]]) -> Iterator[Problem]:
    for index, row in enumerate(providers):
        for key in ("uncovered", "only_translated"):
            for place, name in enumerate(row.get(key, [])):
                if name not in known:
                    yield (
                        ("provider", index, key, place),
                        f"no [[generation]] has the capability{nearest(name, known)}",
                    )
