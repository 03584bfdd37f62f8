"""Rules over core, models, downloader and releases: what each lets pass, and what it stops.

Tests are named after the bug that taught the rule, where it is one of the known reports.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.rules.pin_sets import ERA_11, ERA_12, MAIN, TARGETS, WHEELS, found, only, pins, with_pin
from vvbuild.rules.pin_evidence import Pin, PinEvidence
from vvbuild.rules.registry import judge, rules_over


@pytest.mark.parametrize("base", [ERA_11, ERA_12, MAIN, WHEELS])
@pytest.mark.parametrize("target", TARGETS)
def test_sets_that_shipped_have_no_error_but_the_one_that_was_accepted(base, target: str) -> None:
    accepted = ["cudnn-major"] if base is MAIN and target.endswith("cuda") else []

    assert found(pins(base, target, python="==3.11.9"), "error") == accepted


def test_b001_models_that_stayed_behind_are_a_warning_and_nothing_else() -> None:
    forgotten = pins(MAIN, "linux-x64-cpu", models="0.16.4")

    assert found(forgotten) == ["models-lockstep"]
    assert only(forgotten, "models-lockstep").severity == "warning"
    assert found(pins(MAIN, "linux-x64-cpu")) == []


def test_b002_models_of_a_format_that_the_core_does_not_load() -> None:
    refused = only(pins(ERA_12, "linux-x64-cpu", models="0.17.0"), "models-format")

    assert refused.severity == "error"
    assert "format 2" in refused.message
    assert "models-format" not in found(pins(MAIN, "linux-x64-cpu", models="0.16.4"))


@pytest.mark.parametrize("target", ["linux-x64-cpu", "linux-x64-cuda", "macos-arm64-cpu"])
def test_b003_a_core_opens_the_file_name_of_the_version_it_was_made_for(target: str) -> None:
    refused = only(pins(ERA_12, target, onnxruntime="1.23.2"), "core-ort-filename")

    assert refused.severity == "error"
    assert "1.17.3" in refused.message


def test_b003_windows_did_not_notice_as_its_name_has_no_version() -> None:
    assert "core-ort-filename" not in found(pins(ERA_12, "win-x64-cpu", onnxruntime="1.23.2"))


def test_a_core_that_falls_back_takes_another_version() -> None:
    assert found(pins(MAIN, "linux-x64-cpu", onnxruntime="1.17.3"), "error") == []


@pytest.mark.parametrize("target", ["win-x64-cpu", "linux-x64-cpu"])
def test_a_core_opens_the_library_of_one_flavour(target: str) -> None:
    assert found(pins(ERA_12, target, flavour="microsoft"), "error") == ["core-ort-filename"]
    assert found(pins(ERA_11, target, flavour="voicevox"), "error") == ["core-ort-filename"]


@pytest.mark.parametrize(("version", "fits"), [("1.16.3", False), ("1.17.0", True)])
def test_a_core_needs_a_least_api(version: str, fits: bool) -> None:
    assert ("core-ort-api" not in found(pins(MAIN, "linux-x64-cpu", onnxruntime=version))) is fits


@pytest.mark.parametrize(("version", "tried"), [("1.29.1", True), ("1.30.0", False)])
def test_a_core_takes_a_newer_api_than_it_was_tried_with_and_warns(
    version: str, tried: bool
) -> None:
    newer = pins(MAIN, "linux-x64-cpu", onnxruntime=version)

    assert ("core-ort-untried" not in found(newer, "warning")) is tried
    assert found(newer, "error") == []


def test_the_downloader_takes_a_range() -> None:
    outside = only(pins(MAIN, "linux-x64-cuda", additional_libraries="0.2.0"), "downloader-range")

    assert outside.severity == "warning"
    assert ">=0.2.1,<0.4" in outside.message
    assert "downloader-range" not in found(pins(MAIN, "linux-x64-cuda"))


def test_the_range_is_nothing_to_what_comes_from_elsewhere() -> None:
    outside = pins(MAIN, "linux-x64-cpu", onnxruntime="1.29.0")

    assert "downloader-range" in found(outside)
    elsewhere = with_pin(outside, "onnxruntime", source="github")
    assert "downloader-range" not in found(elsewhere)


def test_what_the_downloader_may_choose_drifts() -> None:
    chosen = pins(ERA_12, "linux-x64-cpu", models="latest")
    libraries = pins(ERA_12, "linux-x64-cuda", without="additional-libraries")

    assert "downloader-latest-drift" in found(chosen)
    assert "downloader-latest-drift" in found(libraries)
    assert "downloader-latest-drift" not in found(pins(ERA_12, "linux-x64-cuda"))


def test_b065_a_target_that_the_release_has_not_names_those_that_exist() -> None:
    evidence = replace(pins(ERA_11, "linux-arm64-cpu"), targets=("linux-x64-cpu", "win-x64-cpu"))

    message = only(evidence, "target-unavailable").message

    assert message.endswith("its targets are linux-x64-cpu, win-x64-cpu")
    assert found(evidence, "error") == ["target-unavailable"]


def test_an_onnxruntime_that_was_never_published_for_a_target() -> None:
    newest = {"onnxruntime": "1.24.4"}

    assert "target-unavailable" in found(pins(WHEELS, "macos-x64-cpu", **newest))
    assert "target-unavailable" not in found(pins(WHEELS, "macos-arm64-cpu", **newest))
    assert "target-unavailable" not in found(pins(WHEELS, "macos-x64-cpu"))


@pytest.mark.parametrize(
    ("version", "python", "fits"),
    [
        ("5.10.1", "==3.11.4", False), ("5.10.1", "==3.11.3", True), ("5.12.0", "==3.11.4", True),
        ("5.3", "==3.8.10", True), ("5.3", "==3.11.3", False), ("5.13.2", "==3.11.9", True),
        ("6.17.0", "==3.14.6", True), ("6.14.2", "==3.14.6", False), ("6.21.0", "==3.14.6", True),
        ("6.22.3", ">=3.10,<3.14", True), ("6.22.3", ">=3.7,<3.14", False),
        ("6.22.3", ">=3.10,<3.17", False), ("6.22.3", "~=3.11", True),
    ],
)  # fmt: skip
def test_pyinstaller_takes_some_pythons(version: str, python: str, fits: bool) -> None:
    evidence = pins(WHEELS, "linux-x64-cpu", pyinstaller=version, python=python)

    assert ("python-pyinstaller" not in found(evidence)) is fits


@pytest.mark.parametrize("version", [">=1.20", "~=1.20", "1.20.*", "^1.20", "latest", "newest"])
def test_b010_a_pin_is_one_version(version: str) -> None:
    assert "unbounded-pin" in found(pins(WHEELS, "linux-x64-cuda", onnxruntime=version))


def test_b010_two_sites_of_one_version_agree() -> None:
    told_twice = only(pins(MAIN, "linux-x64-cuda", cuda="12.4.1"), "duplicate-pin-disagrees")

    assert "12.8.1" in told_twice.message
    assert "duplicate-pin-disagrees" not in found(pins(MAIN, "linux-x64-cuda"))


def test_the_engine_is_not_pinned_as_another_one() -> None:
    evidence = pins(WHEELS, "linux-x64-cpu")
    same = Pin("0.25.2", "github", "components.engine.version")

    assert found(replace(evidence, pins={**evidence.pins, "engine": same})) == []
    other = replace(same, version="0.25.1")
    renamed = replace(evidence, release="0.25.1")
    assert found(renamed) == ["duplicate-pin-disagrees"]
    assert found(replace(evidence, release="0.25.2")) == []
    doubled = replace(evidence, pins={**evidence.pins, "engine": other})
    assert found(doubled) == ["duplicate-pin-disagrees"]


@pytest.mark.parametrize(
    ("base", "target", "without"),
    [
        (ERA_12, "linux-x64-cpu", "models"), (ERA_12, "win-x64-cpu", "onnxruntime"),
        (ERA_11, "linux-x64-cuda", "cuda"), (ERA_11, "linux-x64-cuda", "cudnn"),
        (ERA_11, "win-x64-directml", "directml"),
    ],
)  # fmt: skip
def test_a_release_pins_what_it_cannot_do_without(base, target: str, without: str) -> None:
    missing = only(pins(base, target, without=without), "release-incomplete")

    assert missing.message == f"{without} is not pinned"


def test_the_models_of_an_older_core_lie_in_the_resource() -> None:
    assert "release-incomplete" not in found(pins(ERA_11, "linux-x64-cpu"))


def test_what_no_table_knows_is_told_instead_of_passed() -> None:
    unknown = {"onnxruntime": "1.40.0"}

    assert "no-compat-row" in found(pins(WHEELS, "linux-x64-cuda", **unknown))
    assert "no-compat-row" in found(pins(WHEELS, "win-x64-directml", **unknown))
    assert "no-compat-row" in found(pins(ERA_12, "linux-x64-cpu", core="0.18.0"))
    assert "no-compat-row" not in found(pins(WHEELS, "linux-x64-cpu", **unknown))


def test_a_finding_shows_the_row_that_it_was_judged_by() -> None:
    refused = only(pins(ERA_12, "linux-x64-cpu", models="0.17.0"), "models-format")

    assert refused.evidence["table"] == "VOICEVOX/voicevox_core#1400"
    assert (refused.path, refused.target) == ("components.models.version", "linux-x64-cpu")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("version", ["", "?", "9" * 40, "1", "v1.2", "1..2", "-1", "é"])
def test_a_version_that_is_none_is_judged_without_a_fault(target: str, version: str) -> None:
    for base in (ERA_11, ERA_12, MAIN):
        evidence = pins(base, target, **dict.fromkeys(("core", "cuda", "cudnn", "models"), version))

        assert all(finding.why and finding.source for finding in judge(evidence))


def test_every_rule_over_pins_is_seen_to_stop_something() -> None:
    """By these files: the name of each stands in a test."""
    import pathlib

    folder = pathlib.Path(__file__).parent
    text = "".join(path.read_text(encoding="utf-8") for path in folder.glob("test_pins*.py"))

    assert [each.name for each in rules_over(PinEvidence) if f'"{each.name}"' not in text] == []
