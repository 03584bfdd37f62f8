"""JSON Schemas of the files under ``manifests/``, for editors: made from the types that load them.

``python -m vvbuild.manifest.schema`` writes them to ``manifests/schema/``.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from vvbuild import resources
from vvbuild.model.release import HostTable, LockFile, Recipe, Release, Row, Targets, Tools
from vvbuild.runtime.files import write_atomically

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TYPES: dict[str, type[Row]] = {
    "host": HostTable,
    "lock": LockFile,
    "recipe": Recipe,
    "release": Release,
    "targets": Targets,
    "tools": Tools,
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
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


if __name__ == "__main__":
    write_schemas()
