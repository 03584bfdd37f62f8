"""ONNX Runtime in a bundle."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.bundle.good import SHA, bundle, elf, file, macho, only, pe
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
    made = {"linux": elf, "macos": macho, "win": pe}[chosen.os]
    arch = {"cpu" if chosen.os == "macos" else "machine": chosen.arch}
    other = [file(program, kind="program", binary=made(**arch), text=SHA["text"])]
    options: dict[str, Any] = {
        "target": chosen, "program": program, "manifest": {"command": program},
        "without": ("libonnxruntime.so", *(["run"] if chosen.os == "win" else [])),
    }  # fmt: skip

    deep = file(f"lib/{name}", binary=made(**arch))
    assert only(bundle(*other, deep, **options), "provider-missing").message == (
        f"there is no {name} in the bundle's root"
    )


def test_b003_onnx_runtime_must_carry_its_full_version() -> None:
    """Core asks for libonnxruntime.so.1.23.2, and the loader compares SONAMEs."""
    for soname in ("libonnxruntime.so.1", "libonnxruntime.so.1.17.3", None):
        evidence = bundle(file("libonnxruntime.so", binary=elf(soname=soname)))
        assert only(evidence, "ort-name").evidence == {"soname": str(soname)}
