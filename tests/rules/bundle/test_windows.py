"""DirectML, and the C++ runtime beside the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.makers.pe import pe_bytes
from tests.rules.bundle.trees import judged, only, tree

DIRECTML, CPU = "win-x64-directml", "win-x64-cpu"


def library(*imports: str, **facts: object) -> bytes:
    return pe_bytes(dll=True, imports=["KERNEL32.dll", *imports], **facts)  # type: ignore[arg-type]


def test_a_good_bundle_has_no_findings(tmp_path: Path) -> None:
    assert judged(tree(tmp_path, target=DIRECTML), target=DIRECTML) == []


def test_a_bundle_without_directml_is_stopped(tmp_path: Path) -> None:
    folder = tree(tmp_path, {"DirectML.dll": None}, target=DIRECTML)

    finding = only(folder, "directml-missing", target=DIRECTML)

    assert finding.evidence == {"asked for by": "onnxruntime.dll"}


@pytest.mark.parametrize(
    ("version", "severity"), [("1.7.9.0", "error"), ("1.8.0.0", "warning"), ("1.15.3.0", "warning")]
)
def test_b015_an_old_directml_is_told(tmp_path: Path, version: str, severity: str) -> None:
    folder = tree(tmp_path, {"DirectML.dll": library(version=version)}, target=DIRECTML)

    finding = only(folder, "directml-old", target=DIRECTML)

    assert finding.severity == severity
    assert finding.evidence["version"] == version


def test_a_newer_directml_passes(tmp_path: Path) -> None:
    folder = tree(tmp_path, {"DirectML.dll": library(version="1.16.0.0")}, target=DIRECTML)

    assert judged(folder, target=DIRECTML) == []


def test_b011_a_runtime_older_than_its_users_compiler_is_stopped(tmp_path: Path) -> None:
    files = {
        "msvcp140.dll": library(version="14.36.32532.0"),
        "a.dll": library("MSVCP140.dll", linker=(14, 40)),
        "b.dll": library("msvcp140.dll", linker=(14, 38)),
        "c.dll": library("msvcp140.dll", linker=(14, 29)),
    }

    finding = only(tree(tmp_path / "a", files, target=CPU), "msvc-runtime-old", target=CPU)

    assert finding.path == "msvcp140.dll"
    assert finding.message == ("is of version 14.36.32532.0, and 2 libraries were built with 14.40")
    assert finding.evidence == {"files": "a.dll, b.dll"}
    files["msvcp140.dll"] = library(version="14.40.33810.0")
    assert judged(tree(tmp_path / "b", files, target=CPU), target=CPU) == []


def test_b012_runtimes_of_two_versions_in_one_folder_are_stopped(tmp_path: Path) -> None:
    files = {
        "msvcp140.dll": library(version="14.40.33810.0"),
        "vcruntime140.dll": library(version="14.29.30139.0"),
        # What a package brings for itself alone lies in its own folder.
        "numpy.libs/msvcp140-abc.dll": library(version="14.36.0.0"),
    }

    finding = only(tree(tmp_path / "a", files, target=CPU), "msvc-runtime-mixed", target=CPU)

    assert finding.message == "the C++ runtime is of versions 14.29.30139.0 and 14.40.33810.0"
    files["vcruntime140.dll"] = library(version="14.40.33810.0")
    assert judged(tree(tmp_path / "b", files, target=CPU), target=CPU) == []


def test_a_bundle_without_a_runtime_takes_the_systems(tmp_path: Path) -> None:
    files = {"a.dll": library("MSVCP140.dll", linker=(14, 40))}

    assert judged(tree(tmp_path, files, target=CPU), target=CPU) == []
