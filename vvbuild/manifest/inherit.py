"""``extends``: a release says only what differs from another one."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from vvbuild import resources
from vvbuild.errors import ManifestError
from vvbuild.manifest.decode import Document, no_such, read_document

# What a release never inherits: it would pass for the other one.
_OWN = ("schema", "name", "summary")
_DEEPEST = 32
# A release's name, or a base's; anything else is never made into a path.
_STEM = re.compile(r"[a-z0-9_][a-z0-9._-]{0,63}")
# A checkout's own manifest, in its root: what lies beside it are no manifests.
CHECKOUT_FILE = "vvbuild.toml"


def read_release(path: Path) -> Document:
    """Read a manifest together with what it extends.

    Raises :class:`ManifestError` at the line of ``extends`` for a release that is not there, and
    for a circle.
    """
    chain = [read_document(path)]
    while (name := chain[-1].data.get("extends")) is not None:
        parent = _find(name, chain[-1])
        again = any(_same(each.path, parent) for each in chain)
        if again or len(chain) > _DEEPEST:
            circle = " → ".join(each.stem for each in (*(each.path for each in chain), parent))
            raise chain[-1].error([(("extends",), f"goes in a circle: {circle}")])
        chain.append(_read_parent(parent))
    merged: dict[str, Any] = {}
    for document in reversed(chain):
        merged = merge({key: merged[key] for key in merged if key not in _OWN}, document.data)
    return chain[0].inheriting(merged, chain[1:])


def _read_parent(path: Path) -> Document:
    """Read what several releases extend; parsed once, however many do."""
    try:
        return _parsed(path, path.read_bytes())
    except OSError:
        return read_document(path)


@lru_cache(maxsize=64)
def _parsed(path: Path, content: bytes) -> Document:  # noqa: ARG001 - part of the key
    return read_document(path)


def merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Tables key by key; everything else of ``above`` replaces what ``below`` says."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = (
            merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return merged


def _find(name: object, document: Document) -> Path:
    folders = [directory / "releases" for directory in resources.manifest_dirs()]
    if document.path.name != CHECKOUT_FILE:
        folders.insert(0, document.path.parent)
    # What is laid over a release of its own name extends that one.
    if isinstance(name, str) and _STEM.fullmatch(name):
        for folder in folders:
            path = folder / f"{name}.toml"
            if path.is_file() and not _same(path, document.path):
                return path
    if name == document.path.stem:
        raise document.error([(("extends",), f"goes in a circle: {name} → {name}")])
    known = sorted({path.stem for folder in folders for path in folder.glob("*.toml")})
    raise document.error([(("extends",), no_such("release", str(name), known))], ManifestError)


def _same(one: Path, other: Path) -> bool:
    return one.name == other.name and one.resolve() == other.resolve()
