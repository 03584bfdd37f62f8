"""Rules over CUDA, cuDNN, DirectML and GPUs: what each lets pass, and what it stops."""

from __future__ import annotations

import pytest

from tests.rules.pin_sets import ERA_11, ERA_12, MAIN, WHEELS, found, only, pins, with_pin


def test_cuda_of_another_major_is_not_loaded() -> None:
    evidence = pins(ERA_11, "linux-x64-cuda", cuda="12.2")

    assert only(evidence, "cuda-major").severity == "error"
    assert "CUDA 11" in only(evidence, "cuda-major").message
    assert found(evidence, "error") == ["core-cuda-generation", "cuda-major"]


def test_b010_the_first_wheel_for_cuda_13_does_not_take_12() -> None:
    wheel = pins(WHEELS, "linux-x64-cuda", onnxruntime="1.27.0")

    assert found(wheel, "error") == ["cuda-major"]
    assert found(pins(WHEELS, "linux-x64-cuda", onnxruntime="1.27.0", cuda="13.0"), "error") == []
    assert found(pins(WHEELS, "linux-x64-cuda", onnxruntime="1.26.0"), "error") == []


def test_a_bundle_without_cuda_does_not_mind() -> None:
    assert found(pins(WHEELS, "linux-x64-cpu", onnxruntime="1.27.0", cuda="11.8.0")) == []


@pytest.mark.parametrize("target", ["win-x64-cuda", "linux-x64-cuda"])
def test_b006_cudnn_is_recommended_by_operating_system(target: str) -> None:
    evidence = pins(ERA_11, target, core="0.14.0", cuda="11.6.2", cudnn="8.4.1.50")

    expected = ["cudnn-below-recommended"] if target.startswith("win") else []
    assert found(evidence) == expected


@pytest.mark.parametrize("target", ["win-x64-cuda", "linux-x64-cuda"])
def test_b006_cudnn_9_is_an_error_for_a_build_with_8(target: str) -> None:
    assert found(pins(ERA_11, target, cudnn="9.8.0.87"), "error") == ["cudnn-major"]


def test_b013_one_owner_of_the_cuda_libraries() -> None:
    evidence = pins(MAIN, "linux-x64-cuda")
    two = with_pin(evidence, "cuda", provided_by=None)
    files = with_pin(evidence, "cuda", has_files=True)

    assert "additional libraries 0.3.0" in only(two, "cuda-two-owners").message
    assert "files of its own" in only(files, "cuda-two-owners").message
    assert "cuda-two-owners" not in found(evidence)


def test_b014_built_with_cudnn_8_and_shipped_with_9() -> None:
    finding = only(pins(MAIN, "linux-x64-cuda"), "cudnn-major")

    assert finding.severity == "error"
    assert "8.9.7.29" in finding.message
    assert "9.8.0.87" in finding.message


def test_built_with_a_newer_cuda_than_is_shipped() -> None:
    assert only(pins(ERA_12, "linux-x64-cuda"), "cuda-built-newer-than-shipped").severity == (
        "warning"
    )
    assert "cuda-built-newer-than-shipped" not in found(pins(MAIN, "linux-x64-cuda"))


@pytest.mark.parametrize(
    ("runtime", "directml", "fits"),
    [
        ("1.23.2", "1.8.0", False), ("1.23.2", "1.15.4", True), ("1.17.3", "1.13.1", True),
        ("1.17.3", "1.12.1", False), ("1.13.1", "1.10.0", True), ("1.13.1", "1.7.0", False),
    ],
)  # fmt: skip
def test_b015_directml_is_not_older_than_onnxruntime_expects(
    runtime: str, directml: str, fits: bool
) -> None:
    evidence = pins(WHEELS, "win-x64-directml", onnxruntime=runtime, directml=directml)

    assert ("directml-version" not in found(evidence)) is fits


def test_the_floor_of_directml_is_told_before_the_recommendation() -> None:
    evidence = pins(WHEELS, "win-x64-directml", onnxruntime="1.13.1", directml="1.7.0")

    assert "needs DirectML 1.8.0" in only(evidence, "directml-version").message


def test_b018_cudnn_8_on_windows_needs_zlib() -> None:
    windows = pins(ERA_11, "win-x64-cuda", without="zlibwapi")

    assert found(windows, "error") == ["zlib-for-cudnn8"]
    assert found(pins(ERA_11, "linux-x64-cuda", without="zlibwapi")) == []
    extra = with_pin(pins(MAIN | {"zlibwapi": "1.2.3"}, "win-x64-cuda"), "zlibwapi")
    assert only(extra, "zlib-superfluous").severity == "info"
    assert "zlib-superfluous" not in found(pins(ERA_12, "win-x64-cuda"))
    nine = pins(WHEELS, "win-x64-cuda")
    assert "zlibwapi" not in nine.pins
    assert "zlib-for-cudnn8" not in found(nine)


def test_b056_cards_without_code_are_named() -> None:
    finding = only(pins(ERA_12, "win-x64-cuda"), "gpu-arch-uncovered")

    assert "RTX 5080" in finding.message
    assert "gpu-arch-uncovered" not in found(pins(ERA_12, "win-x64-cpu"))


def test_one_version_serves_other_cards_on_another_system() -> None:
    assert "7.0" in only(pins(WHEELS, "win-x64-cuda"), "gpu-arch-uncovered").message
    assert "gpu-arch-uncovered" not in found(pins(WHEELS, "linux-x64-cuda"))


def test_cudnn_may_be_missing_where_it_is_loaded_when_needed() -> None:
    newest = {"onnxruntime": "1.29.0", "cuda": "13.0"}

    assert found(pins(WHEELS, "linux-x64-cuda", without="cudnn", **newest), "error") == []
    needed = pins(WHEELS, "linux-x64-cuda", without="cudnn", onnxruntime="1.27.0", cuda="13.0")
    assert found(needed, "error") == ["release-incomplete"]
