"""Rules over a bundle: the voice models."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)


@rule(
    "models-missing",
    "error",
    why="Core reads every model below `model/`, and stops if there is none.",
    source="VOICEVOX/voicevox_core, runtime lookup of VV_MODELS_ROOT_DIR",
    fix="Look at the models' row of the recipe: the folder is `model`, not `models`.",
)
def models_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """There is a voice model where it is looked for, and it is not empty."""
    models = [file for path, file in evidence.files.items() if posixpath.dirname(path) == "model"]
    if not any(file.path.endswith((".vvm", ".bin", ".onnx")) and file.size for file in models):
        yield Found("there is no voice model below model/")
