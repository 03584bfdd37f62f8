"""The step that puts a bundle together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vvbuild.bootloader.step import bootloader_facts
from vvbuild.bundle.assemble import finished_manifest, gather_licences, place
from vvbuild.bundle.describe import (
    FILE_NAME,
    describe_bundle,
    find_origins,
    overrides,
    paths_of,
)
from vvbuild.bundle.inputs import BundleInputs
from vvbuild.bundle.transform import Transform, clean_search_paths, replace_file, set_soname
from vvbuild.fetch.store import walk
from vvbuild.manifest.recipe import placements
from vvbuild.manifest.targets import program_name
from vvbuild.model.digest import Digest
from vvbuild.pipeline.artifacts import tool_path
from vvbuild.pipeline.step import Facts, PlanBuilder, StepContext

_MANIFEST = "engine_manifest.json"


@dataclass(frozen=True, slots=True)
class Parts:
    """The names of the steps whose results a bundle is made of."""

    engine: str
    environment: str
    bootloader: str
    frozen: str
    components: Mapping[str, str]
    tools: Mapping[str, str]


def add_assemble(builder: PlanBuilder, inputs: BundleInputs, parts: Parts) -> str:
    """Put the frozen program and the components together, and describe the result."""
    row = inputs.release.row
    rows = placements(inputs.recipe, inputs.target)
    versions = row.versions_for(str(inputs.target))
    command = program_name(row.engine.program, inputs.target.platform)

    def run(context: StepContext) -> Facts:
        bundle = context.out / "bundle"
        context.store.export(context.inputs[parts.frozen].tree, context.out)
        frozen = [relative for _, relative, _ in walk(bundle)]
        components = {name: [context.tree(step)] for name, step in parts.components.items()}
        components["engine"] = [context.tree(parts.engine)]
        placed = place(rows, components, bundle, versions)
        site_packages = context.tree(parts.environment) / "site-packages"
        gather_licences(site_packages, inputs.python.stdlib, bundle)
        transforms = [
            set_soname(
                bundle,
                where,
                placement.soname.replace("{version}", versions[placement.component]),
                tool_path(context, parts.tools["patchelf"], inputs.tools["patchelf"]),
                context.work,
                context.cancel,
            )
            for placement, where in placed
            if placement.soname is not None
        ]
        if "patchelf" in parts.tools and inputs.target.os == "linux":
            patchelf = tool_path(context, parts.tools["patchelf"], inputs.tools["patchelf"])
            transforms += clean_search_paths(bundle, patchelf, context.work, context.cancel)
        transforms.append(_finish_manifest(bundle, row.engine.version, command))
        host = context.facts(parts.frozen)["host_libraries"]
        description = describe_bundle(
            inputs,
            bundle,
            bootloader=bootloader_facts(context.facts(parts.bootloader)).recorded(),
            host_libraries=host,
            packages=context.facts(parts.environment)["packages"],
            transforms=transforms,
            origins=find_origins(
                frozen, paths_of(host), [(row.component, where) for row, where in placed]
            ),
        )
        (bundle / FILE_NAME).write_bytes(description)
        return {}

    return builder.add(
        "assemble",
        run,
        inputs=(
            parts.frozen,
            parts.engine,
            parts.environment,
            parts.bootloader,
            *(parts.tools[name] for name in ("patchelf",) if name in parts.tools),
            *sorted(parts.components.values()),
        ),
        parameters={
            "rows": Digest.of_json([_row_as_json(each) for each in rows]).hex,
            "version": row.engine.version,
            "command": command,
            "release": [inputs.release.name, inputs.release.pins_digest.hex, str(inputs.target)],
            "overrides": overrides(inputs),
            "floors": dict(inputs.release.row.floors),
            "tools": {name: tool.artifact.sha256.hex for name, tool in inputs.tools.items()},
        },
        code=("vvbuild", "vvbuild.bundle.steps.assembling"),
        why=f"by the recipe {inputs.recipe.name!r}",
    )


def _finish_manifest(bundle: Path, version: str, command: str) -> Transform:
    old = (bundle / _MANIFEST).read_bytes()
    new = finished_manifest(old, version=version, command=command)
    return replace_file(bundle, _MANIFEST, new, "version and command", f"{version} {command}")


def _row_as_json(row: object) -> object:
    import msgspec

    return msgspec.to_builtins(row)
