"""Voices in a bundle."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.makers.vvm import vvm_bytes
from tests.rules.bundle.good import GOOD, bundle, file, found, only
from tests.rules.bundle.trees import judged, tree
from tests.rules.bundle.trees import only as only_on_disk
from vvbuild.rules.data import ModelFacts
from vvbuild.rules.evidence import BundleEvidence, FileFacts


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


def with_core(core: str, *formats: int) -> BundleEvidence:
    """A bundle with a core and voice models of these formats."""
    models = {f"model/{number}.vvm": ModelFacts(each, {}) for number, each in enumerate(formats)}
    return bundle(*map(file, models), seen={"models": models}, components={"core": core})


def test_b002_models_of_a_format_that_core_does_not_know_are_one_finding() -> None:
    finding = only(with_core("0.16.4", 1, 2, 2), "models-format")

    assert finding.message == ("2 voice models: each is of format 2; core 0.16.4 loads format 1")
    assert finding.evidence == {"files": "model/1.vvm, model/2.vvm"}
    assert only(with_core("0.17.0", 1, 2, 3), "models-format").path == "model/2.vvm"
    assert found(with_core("0.16.4", 1, 1)) == []
    assert found(with_core("0.17.0", 1, 2)) == []


def test_b002_the_core_that_is_expected_counts() -> None:
    models = {"model/0.vvm": ModelFacts(2, {})}
    seen = {"models": models}

    evidence = bundle(expected={"core": "0.16.4"}, components={"core": "0.16.4"}, seen=seen)
    only(evidence, "models-format")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (vvm_bytes(format=None), "tells no vvm_format_version"),
        (vvm_bytes(format="1"), "tells no vvm_format_version"),
        (vvm_bytes(format=True), "tells no vvm_format_version"),
        (vvm_bytes(without="manifest.json"), "no item named 'manifest.json'"),
        (vvm_bytes(without="metas.json"), "no item named 'metas.json'"),
        (vvm_bytes(manifest_json=b"{"), "cannot be read"),
        (vvm_bytes(manifest_json=b"[]"), "no manifest.json that is an object"),
        (vvm_bytes(manifest_json=b"[" * 100_000), "nested too deep"),
        (vvm_bytes()[:-30], "is not a zip"),
    ],
    ids=["no format", "text", "bool", "no manifest", "no metas", "no JSON", "list", "deep", "cut"],
)
def test_b002_a_model_that_tells_no_format_is_stopped(
    tmp_path: Path, data: bytes, words: str
) -> None:
    finding = only_on_disk(tree(tmp_path, {"model/1.vvm": data}), "models-format")

    assert finding.path == "model/1.vvm"
    assert words in finding.message


@pytest.mark.parametrize(
    "page", [b'{"message": "API rate limit exceeded"}', b"Not Found", b"<!DOCTYPE html>"]
)
def test_b109_b115_a_servers_answer_is_no_voice_model(tmp_path: Path, page: bytes) -> None:
    """For archives unpacking fails; for a voice model nothing would notice."""
    finding = only_on_disk(tree(tmp_path, {"model/1.vvm": page}), "models-format")

    assert "it is not a zip" in finding.message


def test_an_empty_model_beside_others_is_stopped(tmp_path: Path) -> None:
    finding = only_on_disk(tree(tmp_path, {"model/1.vvm": b""}), "models-format")

    assert finding.message == "is empty"


def test_a_model_that_can_be_read_passes(tmp_path: Path) -> None:
    data = vvm_bytes(format=2, characters={"u": [1, 2]})

    assert judged(tree(tmp_path, {"model/1.vvm": data})) == []


VOICEVOX = "074fc39e-678b-4c13-8916-ffca8d505d1d"
NEMO = "208cf94d-43d2-4cf5-abc0-9783cac36d29"


@pytest.mark.parametrize(
    ("uuid", "names", "foreign"),
    [
        (VOICEVOX, ["0.vvm", "12.vvm", "s0.vvm"], []),
        (VOICEVOX, ["0.vvm", "n0.vvm", "n1.vvm"], ["n0.vvm", "n1.vvm"]),
        (NEMO, ["n0.vvm"], []),
        (NEMO, ["n0.vvm", "0.vvm"], ["0.vvm"]),
        ("a fork's", ["0.vvm", "n0.vvm", "sample.vvm"], []),
    ],
)
def test_b125_voices_of_another_product_are_stopped(
    uuid: str, names: list[str], foreign: list[str]
) -> None:
    models = [file(f"model/{name}") for name in names]
    evidence = bundle(
        *models, without="model/0.vvm" if "0.vvm" not in names else "", manifest={"uuid": uuid}
    )

    expected = [("models-mixed", f"model/{foreign[0]}")] if foreign else []
    assert found(evidence) == expected
