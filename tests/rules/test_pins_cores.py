"""Rules over bundles with several cores: which libraries serve all, and when none do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.rules.pin_sets import ERA_12, MAIN, found, only, pins, with_cores, with_pin
from vvbuild.rules.pin_evidence import PinEvidence


def several(target: str, *extra: str, **changes: str) -> PinEvidence:
    """The main branch with extra cores."""
    return with_cores(pins(MAIN, target, **changes), *extra)


def test_one_core_alone_is_nothing_to_compare() -> None:
    alone = pins(MAIN, "linux-x64-cuda")

    assert [rule for rule in found(alone) if rule.startswith("cores-")] == []


def test_cores_stand_from_the_newest_down_wherever_they_are_pinned() -> None:
    evidence = several("linux-x64-cpu", "0.15.9", "0.18.0", "0.16.2")

    assert [core.version for core in evidence.cores] == ["0.18.0", "0.17.0", "0.16.2", "0.15.9"]


def test_an_older_core_that_opens_another_file_name_is_left_out() -> None:
    refused = only(several("linux-x64-cpu", "0.16.2"), "cores-onnxruntime")

    assert refused.severity == "error"
    assert refused.message == (
        "core 0.17.0 wants voicevox_onnxruntime from 1.17 on, core 0.16.2 wants "
        "voicevox_onnxruntime 1.17.3, but voicevox_onnxruntime 1.23.2 is pinned; "
        "voicevox_onnxruntime 1.17.3 serves all"
    )
    assert refused.evidence["left out"] == "0.16.2"
    assert refused.path == "components.onnxruntime.version"


def test_the_onnxruntime_that_the_verdict_names_serves_all() -> None:
    mended = several("linux-x64-cpu", "0.16.2", onnxruntime="1.17.3", models="0.16.4")

    assert found(mended, "error") == []


def test_on_windows_the_file_name_has_no_version() -> None:
    assert "cores-onnxruntime" not in found(several("win-x64-cpu", "0.16.2"))


@pytest.mark.parametrize("target", ["win-x64-cpu", "linux-x64-cpu", "macos-arm64-cpu"])
def test_cores_of_two_libraries_are_served_by_none(target: str) -> None:
    refused = only(several(target, "0.15.9"), "cores-onnxruntime")

    assert refused.message.endswith("no ONNX Runtime serves all")
    assert "core 0.15.9 wants onnxruntime" in refused.message
    assert refused.evidence["serves all"] == ""


def test_an_onnxruntime_too_old_for_the_newest_core_leaves_that_out() -> None:
    evidence = with_cores(pins(ERA_12, "win-x64-cpu", onnxruntime="1.16.3"), "0.17.0")

    refused = only(evidence, "cores-onnxruntime")
    assert refused.evidence["left out"] == "0.17.0"
    assert "1.17.3" in refused.evidence["serves all"]


def test_cores_of_two_generations_of_cuda_are_served_by_none() -> None:
    refused = only(several("linux-x64-cuda", "0.15.9"), "cores-cuda")

    assert refused.severity == "error"
    assert refused.message == (
        "core 0.17.0 wants CUDA 12, core 0.15.9 wants CUDA 11; no CUDA serves all"
    )
    assert refused.path == "components.extra-cores.version"
    assert "cores-cuda" not in found(several("linux-x64-cuda", "0.16.2"))
    assert "cores-cuda" not in found(several("linux-x64-cpu", "0.15.9"))


def test_an_older_format_of_models_is_loaded_by_all() -> None:
    assert "cores-models" not in found(several("linux-x64-cpu", "0.16.2", models="0.16.4"))


def test_a_newer_format_of_models_is_refused_by_an_older_core() -> None:
    refused = only(several("linux-x64-cpu", "0.16.2"), "cores-models")

    assert refused.severity == "error"
    assert refused.message == (
        "core 0.17.0 loads 1, 2, core 0.16.2 loads 1, but models 0.17.0 have format 2; "
        "format 1 serves all"
    )


def test_a_core_with_its_voices_inside_minds_no_format() -> None:
    assert "cores-models" not in found(several("linux-x64-cpu", "0.15.9"))


def test_a_core_in_two_places_is_passed_over_once() -> None:
    assert only(several("linux-x64-cpu", "0.17.0"), "cores-twice").severity == "warning"
    doubled = several("linux-x64-cpu", "0.16.2", "0.16.2")
    assert only(doubled, "cores-twice").message == "core 0.16.2 is pinned 2 times"
    assert "cores-twice" not in found(several("linux-x64-cpu", "0.16.2"))


def test_an_extra_core_that_no_table_knows_is_told() -> None:
    unknown = several("linux-x64-cpu", "0.18.0", onnxruntime="1.17.3", models="0.16.4")

    assert "0.18.0" in only(unknown, "no-compat-row").message
    assert found(unknown, "error") == []


def test_an_extra_core_is_one_version() -> None:
    evidence = several("linux-x64-cpu", "latest", ">=0.16")

    assert found(evidence).count("unbounded-pin") == 2


def test_b150_a_core_that_is_slow_with_cuda_is_slow_as_an_extra_one_too() -> None:
    assert "known-bad-version" in found(several("linux-x64-cuda", "0.16.1"))
    assert "known-bad-version" not in found(several("linux-x64-cuda", "0.16.2"))


def test_a_bundle_of_extra_cores_alone_is_judged() -> None:
    evidence = several("linux-x64-cuda", "0.16.2", "0.15.9")
    without = {name: pin for name, pin in evidence.pins.items() if name != "core"}

    assert "cores-cuda" in found(replace(evidence, pins=without))


@pytest.mark.parametrize("version", ["", "?", "9" * 40, "é", "0", "0.17"])
def test_a_version_that_is_none_is_judged_without_a_fault(version: str) -> None:
    for target in ("linux-x64-cuda", "win-x64-cuda", "macos-arm64-cpu"):
        evidence = several(target, version, "0.16.2", version)
        odd = with_pin(evidence, "onnxruntime", version=version)

        assert all(isinstance(rule, str) for rule in found(odd))
