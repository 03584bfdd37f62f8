"""ONNX Runtime in a bundle."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.rules.bundle.good import SHA, bundle, elf, file, only
from vvbuild.model.target import Target

# ONNX Runtime and models


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("linux-x64-cuda", "libonnxruntime.so"),
        ("macos-arm64-cpu", "libonnxruntime.dylib"),
        ("win-x64-directml", "onnxruntime.dll"),
    ],
)
def test_b005_onnx_runtime_must_lie_beside_the_program(target: str, name: str) -> None:
    chosen = Target.parse(target)
    program = "run.exe" if chosen.os == "win" else "run"
    other = [file(program, kind="program", binary=elf("arm64"), text=SHA["text"])]
    if chosen.arch == "x64":
        other = [dataclasses.replace(other[0], binary=elf())]
    options: dict[str, Any] = {
        "target": chosen, "program": program, "manifest": {"command": program},
        "without": "libonnxruntime.so",
    }  # fmt: skip

    deep = file(f"lib/{name}", binary=elf(chosen.arch) if chosen.os == "linux" else None)
    assert only(bundle(*other, deep, **options), "provider-missing").message == (
        f"there is no {name} in the bundle's root"
    )


def test_b003_onnx_runtime_must_carry_its_full_version() -> None:
    """Core asks for libonnxruntime.so.1.23.2, and the loader compares SONAMEs."""
    for soname in ("libonnxruntime.so.1", "libonnxruntime.so.1.17.3", None):
        evidence = bundle(file("libonnxruntime.so", binary=elf(soname=soname)))
        assert only(evidence, "ort-name").evidence == {"soname": str(soname)}
