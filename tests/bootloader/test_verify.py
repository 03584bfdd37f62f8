"""What a program's bytes prove of its bootloader, each fault told apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.makers.elf import make_elf
from tests.makers.macho import make_macho
from tests.makers.pe import make_pe
from vvbuild.bootloader.verify import verify_bootloader
from vvbuild.errors import UsageError
from vvbuild.manifest.bootloader import hint_table, hint_values
from vvbuild.report.plain import render
from vvbuild.report.views.bootloader import proof_view

NVIDIA, AMD = "NvOptimusEnablement", "AmdPowerXpressRequestHighPerformance"
HINTS = {NVIDIA: 1, AMD: 1}
MARK = {".rdata": b"vvbuild bootloader of PyInstaller 6.22.3\0"}


def program(folder: Path, **changes: object) -> Path:
    return make_pe(folder / "run.exe", **{"values": HINTS, "sections": MARK, **changes})


def found(path: Path, pyinstaller: str | None = None) -> list[tuple[str, str]]:
    proof = verify_bootloader(path, pyinstaller=pyinstaller)
    return [(each.rule, each.message) for each in proof.findings]


def test_a_good_bootloader_is_proven(tmp_path: Path) -> None:
    proof = verify_bootloader(program(tmp_path), pyinstaller="6.22.3")

    assert proof.findings == ()
    assert [(hint.row.vendor, hint.value, hint.effect) for hint in proof.hints] == [
        ("NVIDIA", 1, "asks for the strong GPU"), ("AMD", 1, "asks for the strong GPU"),
    ]  # fmt: skip


def test_the_table_of_exports_is_what_the_c_file_exports() -> None:
    assert hint_values() == HINTS
    assert {row.vendor for row in hint_table().export} == {"NVIDIA", "AMD"}


def test_archive_and_resources_that_freezing_adds_change_nothing(tmp_path: Path) -> None:
    path = program(tmp_path, version="1.2.3.4", manifest=b"<a/>", data=b"MEI\014" * 10_000)

    assert found(path, "6.22.3") == []


def test_b149_a_stock_program_without_exports_is_stopped(tmp_path: Path) -> None:
    path = program(tmp_path, values={}, exports=["other"])

    assert found(path) == [
        ("gpu-preference-exports", f"it does not export {NVIDIA}; it does not export {AMD}")
    ]


def test_a_hint_of_value_0_is_stopped(tmp_path: Path) -> None:
    path = program(tmp_path, values={NVIDIA: 0, AMD: 1})

    proof = verify_bootloader(path)

    assert [each.message for each in proof.findings] == [f"its {NVIDIA} is 0, not 1"]
    assert [hint.effect for hint in proof.hints] == [
        "does not ask for it",
        "asks for the strong GPU",
    ]


def test_b084_exports_of_a_dll_beside_the_program_do_not_count(tmp_path: Path) -> None:
    path = program(tmp_path, values={})
    make_pe(tmp_path / "hint.dll", dll=True, values=HINTS)
    (tmp_path / "broken.dll").write_bytes(b"MZ")

    (finding,) = verify_bootloader(path).findings

    assert finding.rule == "gpu-preference-exports"
    assert finding.message.endswith("hint.dll does, where no driver looks")
    assert finding.evidence["exported by"] == "hint.dll"


def test_a_bootloader_of_another_version_is_stopped(tmp_path: Path) -> None:
    path = program(tmp_path)

    assert found(path, "6.21.0") == [
        ("bootloader-version",
         "its bootloader is of PyInstaller 6.22.3, not of PyInstaller 6.21.0")
    ]  # fmt: skip


def test_the_bundles_own_description_tells_the_version(tmp_path: Path) -> None:
    path = program(tmp_path)
    about = tmp_path / "vvbuild.json"

    about.write_text(json.dumps({"bootloader": {"pyinstaller": "6.21.0"}}))
    assert [rule for rule, _ in found(path)] == ["bootloader-version"]

    about.write_text(json.dumps({"bootloader": {"pyinstaller": "6.22.3"}}))
    assert found(path) == []


@pytest.mark.parametrize("text", ["", "[]", "{", '{"bootloader": 1}', "[" * 5000])
def test_a_description_that_is_none_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "vvbuild.json").write_text(text)

    assert found(program(tmp_path)) == []


def test_a_program_without_our_mark_is_stopped_where_the_version_matters(tmp_path: Path) -> None:
    path = program(tmp_path, sections={})

    assert found(path) == []
    assert [rule for rule, _ in found(path, "6.22.3")] == ["bootloader-version"]


def test_a_packed_program_is_stopped(tmp_path: Path) -> None:
    path = program(tmp_path, sections={"UPX0": b"", "UPX1": b"x", **MARK})

    assert found(path) == [("upx-packed", "it was packed with UPX")]


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"", "an empty file"), (b"#!/bin/sh\n", "no program"), (b"MZ" + bytes(200), "no program")],
)
def test_what_is_no_program_is_stopped(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "run.exe"
    path.write_bytes(data)

    assert found(path) == [("bootloader-missing", f"it is {why}")]


def test_elsewhere_nothing_is_expected(tmp_path: Path) -> None:
    linux = make_elf(tmp_path / "run", interpreter="/lib64/ld-linux-x86-64.so.2")
    mac = make_macho(tmp_path / "mac", kind="execute", signature="adhoc")

    assert (found(linux, "6.22.3"), found(mac)) == ([], [])


def test_a_directory_is_not_a_program(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a file"):
        verify_bootloader(tmp_path)


def test_what_people_read(
    tmp_path: Path, snapshot: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program(Path(), values={NVIDIA: 0, AMD: 1})

    view = proof_view(verify_bootloader(Path("run.exe"), pyinstaller="6.21.0"))

    assert view.status == 1
    assert render(view.blocks, 80) == snapshot
