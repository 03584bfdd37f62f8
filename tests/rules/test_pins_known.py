"""Rules over what is known to go wrong, and over pins that move: named after the reports."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.rules.pin_sets import ERA_11, ERA_12, MAIN, WHEELS, found, only, pins, with_pin
from vvbuild.model.release import ComponentName
from vvbuild.rules.pin_evidence import PinEvidence, PinnedReference

CORE_16 = (
    "github:VOICEVOX/voicevox_core@{version}/voicevox_core-{core_os}-{core_arch}-{version}.zip"
)
CORE_15 = CORE_16.replace("-{version}.zip", "-{core_device}-{version}.zip")


def fetched(evidence: PinEvidence, text: str, component: ComponentName = "core") -> PinEvidence:
    row = PinnedReference(component, text, "artifacts.0.references.0")
    return replace(evidence, references=(row,))


@pytest.mark.parametrize(("core", "bad"), [("0.16.0", True), ("0.16.1", True), ("0.16.2", False)])
def test_b150_a_core_that_was_slow_with_cuda(core: str, bad: bool) -> None:
    assert ("known-bad-version" in found(pins(ERA_12, "win-x64-cuda", core=core))) is bad
    assert "known-bad-version" not in found(pins(ERA_12, "win-x64-cpu", core=core))


def test_b150_a_preview_is_as_slow_as_its_release() -> None:
    preview = only(pins(ERA_12, "win-x64-cuda", core="0.16.0-preview.0"), "known-bad-version")

    assert preview.severity == "error"
    assert "VOICEVOX/voicevox_core#1163" in preview.message


@pytest.mark.parametrize(
    ("runner", "bad"), [("windows-2019", True), ("windows-2022", False), (None, False)]
)
def test_b011_an_onnxruntime_that_is_newer_than_the_runners_compiler(
    runner: str | None, bad: bool
) -> None:
    built = replace(pins(ERA_12, "win-x64-cpu"), runner=runner)

    assert ("known-bad-version" in found(built, "error")) is bad
    assert found(replace(pins(ERA_11, "win-x64-cpu"), runner=runner), "error") == []


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ("0.25.2", True), ("0.26.0-preview.0", True), ("0.1.0", True), ("latest", False),
        ("999.999.999", False), ("999.999.999-dev", False), ("0.0.0", False),
    ],
)  # fmt: skip
def test_b089_a_placeholder_is_no_version(version: str, fits: bool) -> None:
    evidence = replace(pins(WHEELS, "linux-x64-cpu"), engine=version)

    assert ("engine-version-placeholder" not in found(evidence, "error")) is fits


def test_b151_an_older_core_makes_the_newer_onnxruntime_slow() -> None:
    libraries = {"additional_libraries": "0.2.1"}
    slow = only(pins(ERA_12, "win-x64-cuda", onnxruntime="1.23.2", **libraries), "known-trouble")

    assert slow.severity == "warning"
    assert slow.message.startswith("onnxruntime 1.23.2 with core 0.16.2 ")
    assert "known-trouble" not in found(pins(ERA_12, "win-x64-cuda", **libraries))
    assert "known-trouble" not in found(pins(MAIN, "win-x64-cuda"))


def test_b058_an_onnxruntime_that_needs_a_newer_macos() -> None:
    assert "macOS 14" in only(pins(MAIN, "macos-arm64-cpu"), "known-trouble").message
    assert "known-trouble" not in found(pins(ERA_12, "macos-arm64-cpu"))


def test_b051_an_old_onnxruntime_and_folders_that_are_not_ascii() -> None:
    assert "known-trouble" in found(pins(ERA_11, "win-x64-cpu", onnxruntime="1.7.0"))
    assert "known-trouble" not in found(pins(ERA_11, "linux-x64-cpu", onnxruntime="1.7.0"))
    assert "known-trouble" not in found(pins(ERA_11, "win-x64-cpu"))


def test_b073_the_install_name_that_changed() -> None:
    assert "known-trouble" in found(pins(WHEELS, "macos-arm64-cpu", onnxruntime="1.30.0"))
    assert "known-trouble" not in found(pins(WHEELS, "macos-arm64-cpu", onnxruntime="1.24.4"))
    assert "known-trouble" not in found(pins(WHEELS, "linux-x64-cpu", onnxruntime="1.30.0"))


def test_b095_additional_libraries_without_their_licence() -> None:
    lacking = pins(ERA_12, "linux-x64-cuda", additional_libraries="0.2.0")

    assert "licence" in only(lacking, "known-trouble").message
    mended = pins(ERA_12, "linux-x64-cuda", additional_libraries="0.2.1")
    assert "known-trouble" not in found(mended)


@pytest.mark.parametrize("target", ["macos-x64-cpu", "macos-arm64-cpu"])
def test_b132_pyinstaller_6_inside_the_app_of_an_old_editor(target: str) -> None:
    assert "known-bad-version" in found(pins(ERA_11, target, pyinstaller="6.2.0"), "error")
    assert "known-bad-version" not in found(pins(ERA_11, target))
    assert "known-bad-version" not in found(pins(ERA_12, target))
    assert "known-bad-version" not in found(pins(ERA_11, "linux-x64-cpu", pyinstaller="6.2.0"))


def test_a_trouble_of_one_flavour_is_none_of_another() -> None:
    assert "known-trouble" not in found(pins(WHEELS, "macos-arm64-cpu"))


@pytest.mark.parametrize(("models", "mixed"), [("0.16.1", False), ("0.16.2", True)])
def test_b125_another_products_voices_are_kept_out_by_a_pattern(models: str, mixed: bool) -> None:
    patterned = pins(ERA_12, "linux-x64-cpu", models=models)
    all_of_them = with_pin(patterned, "models", pattern=None)

    assert "models-mixed" not in found(patterned)
    assert ("models-mixed" in found(all_of_them, "error")) is mixed


@pytest.mark.parametrize(
    ("base", "reference", "fits"),
    [
        (ERA_12, CORE_16, True), (ERA_12, CORE_15, False),
        (ERA_11, CORE_15, True), (ERA_11, CORE_16, False),
        (ERA_12, "github:VOICEVOX/voicevox_core@0.16.2/voicevox_core-linux-x64-0.16.2.zip", True),
        (ERA_12, "github:VOICEVOX/voicevox_core@0.16.2/voicevox_core-linux-x64-0.16.1.zip", False),
        (ERA_12, "github:VOICEVOX/voicevox_core@0.16.2/voicevox_core-linux-x64-cpu-0.16.2.zip",
         False),
        (ERA_11, "https://host.example/voicevox_core-linux-x64-gpu-0.15.9.zip", True),
        (ERA_11, "https://host.example/", False),
    ],
)  # fmt: skip
def test_b122_a_core_is_fetched_under_the_name_of_its_era(base, reference: str, fits: bool) -> None:
    evidence = fetched(pins(base, "linux-x64-cpu"), reference)

    assert ("core-asset-name" not in found(evidence)) is fits
    assert "core-asset-name" not in found(fetched(evidence, reference, "onnxruntime"))


@pytest.mark.parametrize(
    ("reference", "rules"),
    [
        ("https://github.com/o/r/archive/refs/heads/main.zip", ["reference-moves"]),
        ("https://github.com/o/r/archive/main.tar.gz", ["reference-moves"]),
        ("https://raw.example/o/r/raw/main/a.zip", ["reference-moves"]),
        ("https://github.com/o/r/archive/refs/tags/1.0.zip", ["reference-made-anew"]),
        ("https://gitlab.example/o/r/-/archive/1.0/r-1.0.zip", ["reference-made-anew"]),
        ("https://codeload.github.com/o/r/zip/1.0", ["reference-made-anew"]),
        ("https://github.com/o/r/releases/download/1.0/a.zip", []),
        ("github:o/r@1.0/archive.zip", []),
        ("pypi:onnxruntime/1.23.2/a.whl", []),
    ],
)
def test_b121_what_a_host_makes_anew_has_no_lasting_digest(
    reference: str, rules: list[str]
) -> None:
    assert found(fetched(pins(WHEELS, "linux-x64-cpu"), reference, "onnxruntime")) == rules


@pytest.mark.parametrize(
    ("runner", "fits"), [("ubuntu-latest", False), ("ubuntu-22.04", True), (None, True)]
)
def test_b062_a_runner_has_a_version(runner: str | None, fits: bool) -> None:
    evidence = replace(pins(WHEELS, "linux-x64-cpu"), runner=runner)

    assert ("runner-moves" not in found(evidence, "error")) is fits
