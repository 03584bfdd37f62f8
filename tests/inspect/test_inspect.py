"""What is shown of files, trees and archives, without judging them."""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.makers.elf import elf_bytes, make_elf
from tests.makers.fatbin import make_gpu_code
from tests.makers.macho import make_macho
from tests.makers.pe import make_pe
from tests.rules.bundle.trees import tree
from vvbuild.cli.main import main
from vvbuild.inspect.draw import draw
from vvbuild.inspect.look import Inspection, inspect_path
from vvbuild.report.plain import render
from vvbuild.report.views.inspect import inspection_view
from vvbuild.runtime.cancel import Cancel
from vvbuild.verify.run import no_seven_zip

GPU = {".nv_fatbin": make_gpu_code([["sm_75", "sm_90a", "compute_90"], ["sm_80"]])}


def look(path: Path, *, digests: bool = False) -> Inspection:
    return inspect_path(path, digests=digests, cancel=Cancel(), seven_zip=no_seven_zip)


def shown(path: Path, *, tree: bool = False, width: int = 80) -> str:
    return render(inspection_view(look(path), tree=tree).blocks, width)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def elf(path: Path) -> Path:
    return make_elf(
        path, soname="liba.so.1", needed=["libb.so.2", "libc.so.6", "libcuda.so.1"],
        needs={"libc.so.6": ["GLIBC_2.17", "GLIBC_2.34"]}, runpath="$ORIGIN:/opt/x",
        exports=["alpha", "beta"], sections=GPU,
    )  # fmt: skip


def pe(path: Path) -> Path:
    return make_pe(
        path, dll=True, imports=["KERNEL32.dll", "MSVCP140.dll"], delay_imports=["DirectML.dll"],
        exports=["OrtGetApiBase"], version="1.23.2.0", linker=(14, 40), signature=b"x",
        strings={"OriginalFilename": "onnxruntime.dll"},
    )  # fmt: skip


def macho(path: Path) -> Path:
    return make_macho(
        path, install_name="@rpath/libx.1.dylib", dependencies=["/usr/lib/libSystem.B.dylib"],
        rpaths=["@loader_path"], minimum_os="13.4", exports=["open"], signature="adhoc",
    )  # fmt: skip


@pytest.mark.parametrize("make", [elf, pe, macho])
def test_a_single_file_is_told_in_full(make: Callable[[Path], Path], snapshot: object) -> None:
    assert shown(make(Path("library"))) == snapshot


def test_what_is_nothing_and_what_is_damaged_is_said(snapshot: object) -> None:
    Path("notes.txt").write_text("hello")
    Path("half.dll").write_bytes(make_pe(Path("whole.dll")).read_bytes()[:300])

    assert shown(Path("notes.txt")) + shown(Path("half.dll")) == snapshot


def test_a_tree_is_a_table_that_fits_80_columns(snapshot: object) -> None:
    folder = tree(
        Path("bundle"),
        {"libonnxruntime_providers_cuda.so": elf_bytes(
            needed=["libcublas.so.12", "libc.so.6"], needs={"libc.so.6": ["GLIBC_2.27"]},
            runpath="$ORIGIN", sections=GPU),
         "lib/broken.so": b"\x7fELF" + bytes(20)},
        target="linux-x64-cuda",
    )  # fmt: skip

    text = shown(folder)

    assert max(map(len, text.splitlines())) <= 80
    assert text == snapshot


def test_the_tree_of_needs_shows_each_library_once_with_its_own(snapshot: object) -> None:
    def library(name: str, *needed: str) -> bytes:
        return elf_bytes(soname=name, needed=[*needed, "libc.so.6"], runpath="$ORIGIN")

    folder = tree(
        Path("bundle"),
        {
            "liba.so": library("liba.so", "libb.so", "libc.so"),
            "libb.so": library("libb.so", "libc.so"),
            "libc.so": library("libc.so", "libnowhere.so"),
            "round1.so": library("round1.so", "round2.so"),
            "round2.so": library("round2.so", "round1.so"),
        },
    )

    assert shown(folder, tree=True) == snapshot


def test_a_long_chain_is_drawn(tmp_path: Path) -> None:
    folder = tmp_path / "chain"
    for number in range(1200):
        make_elf(
            folder / f"lib{number}.so", soname=f"lib{number}.so", runpath="$ORIGIN",
            needed=[f"lib{number + 1}.so"],
        )  # fmt: skip

    depth = max(branch.depth for branch in draw(look(folder)))

    assert depth == 1200


@pytest.mark.parametrize("kind", ["vvpp", "tar.gz"])
def test_an_archive_is_told_like_its_tree_with_its_own_modes(tmp_path: Path, kind: str) -> None:
    folder = tree(tmp_path / "bundle")
    archive = tmp_path / f"sample-linux-x64-cpu.{kind}"
    if kind == "vvpp":
        with zipfile.ZipFile(archive, "w") as written:
            for path in sorted(folder.rglob("*")):
                written.write(path, path.relative_to(folder))
    else:
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(folder, "bundle")

    inspection = look(archive)

    assert inspection.kind == ("vvpp" if kind == "vvpp" else "tar")
    assert {path for path, file in inspection.files.items() if file.binary is not None} == {
        "run", "libonnxruntime.so",
    }  # fmt: skip
    assert inspection.files["run"].mode == 0o755
    assert str(inspection.target) == "linux-x64-cpu"


def test_json_holds_everything(capsys: pytest.CaptureFixture[str]) -> None:
    elf(Path("liba.so.1"))

    assert main(["inspect", "liba.so.1", "--json", "--digests"]) == 0

    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    (file,) = document["files"]
    assert (file["format"], file["machines"], file["soname"]) == ("elf", ["x64"], "liba.so.1")
    assert file["runpath"] == ["$ORIGIN", "/opt/x"]
    assert file["floors"] == {"GLIBC": "2.34"}
    assert [(each["name"], each["place"]) for each in file["needs"]] == [
        ("libb.so.2", "missing"), ("libc.so.6", "system"), ("libcuda.so.1", "driver"),
    ]  # fmt: skip
    assert file["gpu"]["sass"] == {"75": 1, "80": 1, "90a": 1}
    assert file["gpu"]["ptx"] == {"90": 1}
    assert len(file["sha256"]) == 64
    assert document["exported"] == ["alpha", "beta"]


def test_a_hostile_name_moves_no_terminal(tmp_path: Path) -> None:
    make_elf(tmp_path / "evil", needed=["\x1b[2Jlib.so"])

    text = shown(tmp_path / "evil") + shown(tmp_path / "evil", tree=True)

    assert "\x1b" not in text


def test_a_path_that_is_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "nowhere", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usage"
