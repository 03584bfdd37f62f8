"""``vvbuild.json``: what a bundle was built from, by what, and the digest of every other file.

It holds no time, path, user or host name, so that equal inputs give equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from vvbuild import __version__
from vvbuild.bundle.inputs import BundleInputs
from vvbuild.bundle.transform import Transform
from vvbuild.fetch.store import walk
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.target import covered
from vvbuild.runtime.files import hash_file

FILE_NAME = "vvbuild.json"
SCHEMA = "vvbuild.bundle/1"
# Where ``gather_licences`` puts the texts of Python and its packages.
_LICENCES = "licenses/python/"


def describe_bundle(
    inputs: BundleInputs,
    bundle: Path,
    *,
    bootloader: Mapping[str, object],
    host_libraries: object,
    packages: object,
    transforms: Sequence[Transform],
    origins: Mapping[str, str],
) -> bytes:
    """The content of a bundle's ``vvbuild.json``; ``origins`` are those of its files."""
    row = inputs.release.row
    engine = Digest.of_json([[file.path, file.digest.hex] for file in inputs.engine])
    document = {
        "schema": SCHEMA,
        "vvbuild": __version__,
        "release": inputs.release.name,
        "pins_sha256": inputs.release.pins_digest.hex,
        "target": str(inputs.target),
        "source_date_epoch": inputs.release.epoch,
        "engine": {"version": row.engine.version, "sources_sha256": engine.hex},
        "components": _components(inputs),
        "artifacts": _artifacts(inputs.lock.for_target(inputs.target)),
        "overrides": overrides(inputs),
        "floors": dict(row.floors),
        "tools": _artifacts(tool.artifact for tool in inputs.tools.values()),
        "python": {"version": inputs.python.version, "sha256": inputs.python_identity.hex},
        "packages": packages,
        "bootloader": dict(bootloader),
        "bootloader_extra": {file.path: file.digest.hex for file in inputs.extra_sources},
        "host_libraries": host_libraries,
        "transforms": [transform.as_json() for transform in transforms],
        "files": describe_files(bundle, origins),
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def overrides(inputs: BundleInputs) -> dict[str, object]:
    """What was accepted for this bundle, or taken from elsewhere than the package."""
    target = str(inputs.target)
    waivers = [
        {"rule": each.rule, "reason": each.reason, "until": each.until and str(each.until)}
        for each in inputs.release.row.waivers
        if covered(target, each.targets)
    ]
    return {
        "manifests": {name: digest.hex for name, digest in inputs.own_manifests.items()},
        "terms": {each.sha256.hex: list(each.artifacts) for each in inputs.terms},
        "unlocked": {name: dict(told) for name, told in inputs.unlocked.items()},
        "waivers": waivers,
    }


def find_origins(
    frozen: Iterable[str], host: Iterable[str], placed: Iterable[tuple[str, str]]
) -> dict[str, str]:
    """Where each file of a bundle came from.

    ``frozen`` are the paths that PyInstaller and the spec left, ``host`` those of them that are
    the machine's own; ``placed`` are components and paths. What is below ``licenses/python`` was
    gathered from the environment. The rule `unknown-origin` asks for the rest.
    """
    found = dict.fromkeys(frozen, "frozen") | dict.fromkeys(host, "host")
    return found | {path: component for component, path in placed}


def paths_of(host_libraries: object) -> list[str]:
    """The paths in a bundle of what the freezing step tells of the host's libraries."""
    rows = host_libraries if isinstance(host_libraries, list) else []
    return [str(row["path"]) for row in rows]


def describe_files(
    bundle: Path, origins: Mapping[str, str] | None = None
) -> dict[str, dict[str, object]]:
    """Path → kind, size, digest and origin of everything in a bundle but ``vvbuild.json``."""
    files: dict[str, dict[str, object]] = {}
    for path, relative, kind in walk(bundle):
        if relative == FILE_NAME:
            continue
        if kind == "link":
            files[relative] = {"kind": kind, "link": path.readlink().as_posix()}
        elif kind == "directory":
            files[relative] = {"kind": kind}
        else:
            size = path.stat().st_size
            files[relative] = {"kind": kind, "size": size, "sha256": hash_file(path).hex}
        if origins is not None and kind != "directory":
            gathered = "licences" if relative.startswith(_LICENCES) else None
            origin = origins.get(relative, gathered)
            files[relative] |= {"origin": origin} if origin is not None else {}
    return files


def _components(inputs: BundleInputs) -> dict[str, str]:
    """The versions of what is in this bundle: what was fetched for it, and what that provides."""
    row = inputs.release.row
    fetched = {artifact.component for artifact in inputs.lock.for_target(inputs.target)}
    inside: set[str] = {
        name for name, item in row.components.items() if {name, item.provided_by} & fetched
    }
    versions = row.versions_for(str(inputs.target))
    return {name: versions[name] for name in sorted(inside & versions.keys())}


def _artifacts(artifacts: Iterable[Artifact]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = [
        {
            "name": item.name,
            "component": item.component,
            "version": item.version,
            "size": item.size,
            "sha256": item.sha256.hex,
        }
        for item in artifacts
    ]
    return sorted(rows, key=lambda row: str(row["name"]))
