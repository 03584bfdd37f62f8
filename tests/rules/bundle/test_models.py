"""Voices in a bundle."""

from __future__ import annotations

import dataclasses

import pytest

from tests.rules.bundle.good import GOOD, bundle, file, only
from vvbuild.rules.evidence import FileFacts


@pytest.mark.parametrize(
    "models",
    [
        [],
        [file("model/0.vvm", size=0)],
        [file("model/README.md")],
        [file("models/0.vvm")],
        [file("model/deep/0.vvm")],
    ],
    ids=["none", "empty", "no model", "another folder", "too deep"],
)
def test_a_bundle_without_a_voice_is_stopped(models: list[FileFacts]) -> None:
    files = [each for each in GOOD if each.path != "model/0.vvm"] + models
    evidence = dataclasses.replace(
        bundle(promised=files), files={each.path: each for each in files}
    )

    only(evidence, "models-missing")
