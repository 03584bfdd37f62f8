"""ONNX Runtime in a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.makers.elf import elf_bytes
from tests.makers.macho import macho_bytes
from tests.makers.pe import pe_bytes
from tests.rules.bundle import trees
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
    if chosen.os == "macos":
        arch["signature"] = "adhoc"
    other = [file(program, kind="program", binary=made(**arch), text=SHA["text"])]
    options: dict[str, Any] = {
        "target": chosen, "program": program, "manifest": {"command": program},
        "without": ("libonnxruntime.so", *(["run"] if chosen.os == "win" else [])),
    }  # fmt: skip

    if chosen.device == "directml":
        other.append(file("DirectML.dll", binary=pe(dll=True)))
    deep = file(f"lib/{name}", binary=made(**arch))
    assert only(bundle(*other, deep, **options), "provider-missing").message == (
        f"there is no {name} in the bundle's root"
    )


def test_b003_onnx_runtime_must_carry_its_full_version() -> None:
    """Core asks for libonnxruntime.so.1.23.2, and the loader compares SONAMEs."""
    for soname in ("libonnxruntime.so.1", "libonnxruntime.so.1.17.3", None):
        evidence = bundle(file("libonnxruntime.so", binary=elf(soname=soname)))
        assert only(evidence, "ort-name").evidence == {"soname": str(soname)}


# Providers, on real trees

CUDA, WINDOWS_CUDA, DIRECTML = "linux-x64-cuda", "win-x64-cuda", "win-x64-directml"


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (CUDA, "libonnxruntime_providers_cuda.so"),
        (CUDA, "libonnxruntime_providers_shared.so"),
        (WINDOWS_CUDA, "onnxruntime_providers_cuda.dll"),
        (WINDOWS_CUDA, "onnxruntime_providers_shared.dll"),
    ],
)
def test_b020_b022_b034_a_provider_that_is_missing_is_named(
    tmp_path: Path, target: str, name: str
) -> None:
    finding = trees.only(
        trees.tree(tmp_path, {name: None}, target=target), "provider-missing", target=target
    )
    assert finding.evidence == {"missing": name}


@pytest.mark.parametrize("target", [CUDA, WINDOWS_CUDA])
def test_b020_voicevox_own_build_has_providers_of_its_own_name(tmp_path: Path, target: str) -> None:
    def renamed(name: str) -> str:
        return name.replace("onnxruntime", "voicevox_onnxruntime")

    plain = trees.onnxruntime(target)
    files: dict[str, bytes | None] = dict.fromkeys(plain)
    files |= {renamed(name): data for name, data in plain.items()}
    assert trees.judged(trees.tree(tmp_path / "a", files, target=target), target=target) == []

    (gone,) = (name for name in plain if "_cuda" in name)
    folder = trees.tree(tmp_path / "b", {**files, renamed(gone): None}, target=target)
    finding = trees.only(folder, "provider-missing", target=target)
    assert finding.evidence == {"missing": renamed(gone)}


def test_an_onnx_runtime_for_another_device_is_stopped(tmp_path: Path) -> None:
    other = trees.onnxruntime("win-x64-cpu")
    folder = trees.tree(tmp_path, other, target=DIRECTML)

    finding = trees.only(folder, "provider-mismatch", target=DIRECTML)

    assert "does not ask for DirectML.dll" in finding.message


def test_providers_of_another_version_are_stopped(tmp_path: Path) -> None:
    old = trees.onnxruntime(WINDOWS_CUDA, "1.22.0")
    name = "onnxruntime_providers_cuda.dll"
    folder = trees.tree(tmp_path, {name: old[name]}, target=WINDOWS_CUDA)

    finding = trees.only(folder, "provider-mismatch", target=WINDOWS_CUDA)

    assert finding.evidence[name] == "1.22.0.0"


@pytest.mark.parametrize("target", [CUDA, WINDOWS_CUDA])
def test_b024_a_provider_under_the_name_of_onnx_runtime_is_stopped(
    tmp_path: Path, target: str
) -> None:
    files = trees.onnxruntime(target)
    main, shared, *_ = files
    folder = trees.tree(tmp_path, {main: files[shared]}, target=target)

    (finding,) = (
        each for each in trees.judged(folder, target=target) if each.rule == "ort-clobbered"
    )

    assert "so it is not ONNX Runtime; it is the very file" in finding.message
    assert shared in finding.message


# What core asks for


@pytest.mark.parametrize(
    ("target", "core", "asks", "version", "good"),
    [
        ("linux-x64-cpu", "libvoicevox_core.so", b"libonnxruntime.so.1.17.3", "1.17.3", True),
        ("linux-x64-cpu", "libvoicevox_core.so", b"libonnxruntime.so.1.17.3", "1.23.2", False),
        ("macos-arm64-cpu", "libvoicevox_core.dylib", b"libonnxruntime.1.17.3.dylib", "1.17.3",
         True),
        ("macos-arm64-cpu", "libvoicevox_core.dylib", b"libonnxruntime.1.17.3.dylib", "1.23.2",
         False),
        ("win-x64-cpu", "voicevox_core.dll", b"voicevox_onnxruntime.dll", "1.17.3", False),
        ("win-x64-cpu", "voicevox_core.dll", b"onnxruntime.dll", "1.17.3", True),
    ],
)  # fmt: skip
def test_b003_b069_core_asks_for_onnx_runtime_by_the_name_that_it_has(
    tmp_path: Path, target: str, core: str, asks: bytes, version: str, good: bool
) -> None:
    text = b"\0" + asks + b"\0"
    data = {
        "linux": elf_bytes(needed=["libc.so.6"], data=text),
        "macos": macho_bytes(code=text, signature="adhoc"),
        "win": pe_bytes(dll=True, imports=["KERNEL32.dll"], data=text),
    }[target.split("-")[0]]
    files = {**trees.onnxruntime(target, version), core: data}
    folder = trees.tree(tmp_path, files, target=target)

    if good:
        assert trees.judged(folder, target=target) == []
        return
    finding = trees.only(folder, "ort-name", target=target)
    assert finding.path == core
    assert finding.message.startswith(f"asks for {asks.decode()}, and ONNX Runtime is called")


def test_what_others_open_by_name_is_not_asked_of_onnx_runtime(tmp_path: Path) -> None:
    """cuDNN names the cuBLAS that it opens."""
    target = "win-x64-cuda"
    data = pe_bytes(dll=True, imports=["KERNEL32.dll"], data=b"\0cublasLt64_12.dll\0")
    folder = trees.tree(tmp_path, {"cudnn_adv64_9.dll": data}, target=target)

    assert "ort-name" not in {each.rule for each in trees.judged(folder, target=target)}
