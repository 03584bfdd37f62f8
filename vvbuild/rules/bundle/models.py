"""Rules over a bundle: the voice models."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from vvbuild.model.content import meant
from vvbuild.rules.bundle.wording import listed, together
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found
from vvbuild.rules.shared import MODELS_FORMAT, MODELS_MIXED

rule = Family(BundleEvidence)

_FOLDER = "model"
_ENDINGS = (".vvm", ".bin", ".onnx")


@rule(
    "models-missing",
    "error",
    why="Core reads every model below `model/`, and stops if there is none.",
    source="VOICEVOX/voicevox_core, runtime lookup of VV_MODELS_ROOT_DIR",
    fix="Look at the models' row of the recipe: the folder is `model`, not `models`.",
)
def models_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """There is a voice model where it is looked for, and it is not empty."""
    models = [evidence.files[path] for path in models_of(evidence)]
    if not any(file.size for file in models):
        yield Found("there is no voice model below model/")


@rule.about(MODELS_FORMAT)
def models_format(evidence: BundleEvidence) -> Iterator[Found]:
    """Every voice model can be read, and is of a format that the bundle's core loads."""
    groups: dict[str, list[str]] = {}
    if not any(evidence.files[path].size for path in models_of(evidence)):
        return  # all empty: `models-missing` says it
    core = evidence.expected.get("core") or evidence.version("core")
    row = evidence.tables.compat.core.row(core) if core is not None else None
    for path, facts in evidence.models.items():
        words = facts.problem
        if words is None and row is not None and row.models and facts.format not in row.models:
            takes = " and ".join(map(str, row.models))
            words = f"is of format {facts.format}; core {core} loads format {takes}"
        if words is not None:
            groups.setdefault(words, []).append(path)
    for words, paths in groups.items():
        yield together(paths, words, f"{{n}} voice models: each {words}")


@rule.about(MODELS_MIXED)
def models_mixed(evidence: BundleEvidence) -> Iterator[Found]:
    """An engine has its own product's voice models only."""
    uuid = (evidence.manifest.data or {}).get("uuid")
    rows = evidence.tables.bytes.content.product
    row = next((row for row in rows if row.uuid == uuid), None)
    if row is None:
        return
    models = [path for path in models_of(evidence) if path.endswith(".vvm")]
    foreign = [path for path in models if not meant(path, row.models)]
    if foreign:
        yield together(
            foreign,
            f"is no voice model of {row.name}",
            f"{{n}} files are no voice models of {row.name}",
            expected=listed(row.models),
        )


def models_of(evidence: BundleEvidence) -> list[str]:
    """The paths of the voice models."""
    return [
        path
        for path in evidence.files
        if posixpath.dirname(path) == _FOLDER and path.endswith(_ENDINGS)
    ]
