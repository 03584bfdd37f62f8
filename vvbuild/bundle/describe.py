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


def describe_bundle(
    inputs: BundleInputs,
    bundle: Path,
    *,
    bootloader: Mapping[str, object],
    host_libraries: object,
    packages: object,
    transforms: Sequence[Transform],
) -> bytes:
    """The content of a bundle's ``vvbuild.json``."""
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
        "tools": _artifacts(tool.artifact for tool in inputs.tools.values()),
        "python": {"version": inputs.python.version, "sha256": inputs.python_identity.hex},
        "packages": packages,
        "bootloader": dict(bootloader),
        "bootloader_extra": {file.path: file.digest.hex for file in inputs.extra_sources},
        "host_libraries": host_libraries,
        "transforms": [transform.as_json() for transform in transforms],
        "files": describe_files(bundle),
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


def describe_files(bundle: Path) -> dict[str, dict[str, object]]:
    """Path → kind, size and digest of everything in a bundle but ``vvbuild.json``."""
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
