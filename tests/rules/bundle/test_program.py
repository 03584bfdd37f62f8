"""The program that starts."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.makers.pe import pe_bytes
from tests.rules.bundle import trees
from tests.rules.bundle.good import GOOD, SHA, bundle, file, found, only, windows


def test_a_good_bundle_has_no_findings() -> None:
    assert found(bundle()) == []
    assert found(bundle(target=None)) == []


# Program


def test_a_bundle_without_its_program_is_stopped() -> None:
    finding = only(bundle(without="run"), "program-missing")

    assert finding.severity == "error"
    assert "'run'" in finding.message


def test_an_empty_program_is_stopped() -> None:
    only(bundle(file("run", kind="program", size=0, text=None)), "program-missing")


def test_b090_a_windows_bundle_needs_an_exe() -> None:
    assert found(windows(without="run.exe")) == [("program-missing", None)]
    assert found(windows(program="run", manifest={"command": "run"})) == [("program-missing", None)]
    assert found(windows()) == []


def test_b090_a_linux_bundle_must_not_start_an_exe() -> None:
    finding = only(bundle(manifest={"command": "run.exe"}), "manifest-command")

    assert finding.message == "starts 'run.exe', but the program is 'run'"


def test_b039_a_program_without_its_execute_bit_is_stopped() -> None:
    only(bundle(dataclasses.replace(GOOD[0], kind="file")), "exec-bit-missing")


def test_b149_a_stock_bootloader_is_stopped() -> None:
    evidence = bundle(dataclasses.replace(GOOD[0], text=SHA["other"]))

    finding = only(evidence, "bootloader-not-ours")
    assert finding.evidence == {"expected": SHA["text"].hex, "found": SHA["other"].hex}


def test_a_bundle_that_promises_no_bootloader_passes() -> None:
    assert found(bundle(bootloader={})) == []


# The hints for drivers

HINTS = {"NvOptimusEnablement": 1, "AmdPowerXpressRequestHighPerformance": 1}


@pytest.mark.parametrize("target", ["win-x64-directml", "win-x64-cuda"])
def test_b084_b149_a_program_without_the_hints_is_stopped(tmp_path: Path, target: str) -> None:
    plain = pe_bytes(imports={"KERNEL32.dll": ["Sleep"]})
    files = {"run.exe": plain, "hint.dll": pe_bytes(dll=True, values=HINTS)}
    finding = trees.only(
        trees.tree(tmp_path / "a", files, target=target), "gpu-preference-exports", target=target
    )
    assert finding.path == "run.exe"
    assert "does not export NvOptimusEnablement" in finding.message
    assert finding.evidence == {"exports": "none"}

    assert trees.judged(trees.tree(tmp_path / "b", target=target), target=target) == []


def test_a_bundle_that_uses_no_gpu_needs_no_hint(tmp_path: Path) -> None:
    files = {"run.exe": pe_bytes(imports={"KERNEL32.dll": ["Sleep"]})}
    folder = trees.tree(tmp_path, files, target="win-x64-cpu")

    assert trees.judged(folder, target="win-x64-cpu") == []


def test_b133_packed_files_are_one_finding(tmp_path: Path) -> None:
    packed = pe_bytes(dll=True, sections={"UPX0": b"", "UPX1": b"x"})
    files = {"a.dll": packed, "b.pyd": packed}
    folder = trees.tree(tmp_path, files, target="win-x64-cpu")

    finding = trees.only(folder, "upx-packed", target="win-x64-cpu")

    assert finding.message == "2 files were packed with UPX"
    assert finding.evidence == {"files": "a.dll, b.pyd"}
