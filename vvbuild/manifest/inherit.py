"""``extends``: a release says only what differs from another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vvbuild import resources
from vvbuild.errors import ManifestError
from vvbuild.manifest.decode import Document, no_such, read_document

# What a release never inherits: it would pass for the other one.
_OWN = ("schema", "name", "summary")
_DEEPEST = 32
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
        seen = [document.path.resolve() for document in chain]
        if parent.resolve() in seen or len(chain) > _DEEPEST:
            circle = " → ".join(each.stem for each in (*seen, parent))
            raise chain[-1].error([(("extends",), f"goes in a circle: {circle}")])
        chain.append(read_document(parent))
    merged: dict[str, Any] = {}
    for document in reversed(chain):
        merged = merge({key: merged[key] for key in merged if key not in _OWN}, document.data)
    return chain[0].inheriting(merged, chain[1:])


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
    # Names are looked up, never made into paths. What is laid over a release of its own name
    # extends that one.
    known: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.toml")):
            if path.resolve() != document.path.resolve():
                known.setdefault(path.stem, path)
    if isinstance(name, str) and name in known:
        return known[name]
    if name == document.path.stem:
        raise document.error([(("extends",), f"goes in a circle: {name} → {name}")])
    raise document.error([(("extends",), no_such("release", str(name), known))], ManifestError)
