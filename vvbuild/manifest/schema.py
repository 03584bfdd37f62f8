"""JSON Schemas of the files under ``manifests/``, for editors: made from the types that load them.

``python -m vvbuild.manifest.schema`` writes them to ``manifests/schema/``.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import msgspec

from vvbuild import resources
from vvbuild.manifest.bytes import TABLES as BYTES_TABLES
from vvbuild.manifest.compat import TABLES
from vvbuild.model.downloader import Downloaders
from vvbuild.model.locked import LockFile
from vvbuild.model.policy import Policy
from vvbuild.model.recipe import Recipe
from vvbuild.model.release import Release
from vvbuild.model.row import Row
from vvbuild.model.tables import HostTable, Targets, Tools
from vvbuild.runtime.files import write_atomically

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TYPES: dict[str, type[Row]] = {
    "downloader": Downloaders,
    "host": HostTable,
    "lock": LockFile,
    "policy": Policy,
    "recipe": Recipe,
    "release": Release,
    "targets": Targets,
    "tools": Tools,
    **{f"compat-{name}": table for name, table in TABLES.items()},
    **{f"bytes-{name}": table for name, table in BYTES_TABLES.items()},
}


def schema_files() -> dict[str, bytes]:
    """File name → content, such as ``release.schema.json``."""
    return {f"{name}.schema.json": _schema(row) for name, row in TYPES.items()}


def write_schemas(directory: Path | None = None) -> tuple[Path, ...]:
    """Write every schema, by default where they are packaged; returns the files."""
    directory = directory or resources.manifests_dir() / "schema"
    files = {directory / name: data for name, data in schema_files().items()}
    for path, data in files.items():
        write_atomically(path, data)
    return tuple(files)


def _schema(row: type[Row]) -> bytes:
    document = {"$schema": DIALECT, **msgspec.json.schema(row)}
    if row is Release:
        _admit_parts(document)
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def _admit_parts(document: dict[str, Any]) -> None:
    """Let a file that extends another, or that has no name and is a base, leave out the rest.

    The loader checks the merged whole; an editor sees one file of it.
    """
    tables, whole = document["$defs"], document.pop("$ref")
    merged = ("Release", "Engine", "Python", "Component", "Archives")
    for name in merged:
        part = copy.deepcopy(tables[name])
        part["required"] = ["schema"] if name == "Release" else []
        tables[f"PartOf{name}"] = _renamed(part, merged)
    document["if"] = {"required": ["name"], "not": {"required": ["extends"]}}
    document["then"] = {"$ref": whole}
    document["else"] = {"$ref": f"{whole.removesuffix('Release')}PartOfRelease"}


def _renamed(value: Any, names: tuple[str, ...]) -> Any:
    """Point references at the parts of tables instead of the tables."""
    if isinstance(value, list):
        return [_renamed(each, names) for each in value]
    if not isinstance(value, dict):
        return value
    prefix, _, name = str(value.get("$ref", "")).rpartition("/")
    if name in names:
        return {**value, "$ref": f"{prefix}/PartOf{name}"}
    return {key: _renamed(each, names) for key, each in value.items()}


if __name__ == "__main__":
    write_schemas()
