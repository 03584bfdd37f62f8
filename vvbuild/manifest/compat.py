"""Loading the tables of what fits what."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from vvbuild import resources
from vvbuild.manifest.decode import Document, Problem, decode, read_document
from vvbuild.model.compat import (
    Compat,
    CoreTable,
    GpuTable,
    LibrariesTable,
    ModelsTable,
    OnnxRuntimeTable,
    PyInstallerTable,
)
from vvbuild.model.version import clauses

TableT = TypeVar("TableT", bound=msgspec.Struct)
_RANGES = ("versions", "python")


@cache
def compat_tables() -> Compat:
    """The packaged tables, read once. Raises :class:`~vvbuild.errors.ManifestError`."""
    return load_compat(resources.manifests_dir() / "compat")


def load_compat(directory: Path) -> Compat:
    """The tables below a directory.

    Raises :class:`~vvbuild.errors.ManifestError` that names file and line.
    """

    def load(name: str, table: type[TableT]) -> TableT:
        document = read_document(directory / f"{name}.toml")
        try:
            loaded = msgspec.convert(document.data, table)
        except msgspec.ValidationError:
            # Slower by far, but it names every problem with its line.
            loaded = decode(document, table)
        _check(document)
        return loaded

    return Compat(
        onnxruntime=load("onnxruntime", OnnxRuntimeTable),
        core=load("core", CoreTable),
        libraries=load("additional-libraries", LibrariesTable),
        models=load("models", ModelsTable),
        pyinstaller=load("pyinstaller", PyInstallerTable),
        gpu=load("gpu", GpuTable),
    )


def _check(document: Document) -> None:
    problems = [
        problem
        for table, rows in document.data.items()
        if isinstance(rows, list)
        for index, row in enumerate(rows)
        for problem in _range_problems((table, index), row)
    ]
    if problems:
        raise document.error(problems)


def _range_problems(where: tuple[str, int], row: dict[str, Any]) -> Iterator[Problem]:
    ranges: list[tuple[tuple[str, ...], str]] = [
        ((key,), row[key]) for key in _RANGES if key in row
    ]
    ranges += [(("downloads", name), text) for name, text in row.get("downloads", {}).items()]
    for key, text in ranges:
        if complaint := _complaint(text):
            yield (*where, *key), complaint


def _complaint(text: str) -> str | None:
    try:
        clauses(text)
    except ValueError as error:
        return str(error)
    return None
