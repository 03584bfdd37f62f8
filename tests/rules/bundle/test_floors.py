"""The oldest system that a bundle runs on, against the one that it promises."""

from __future__ import annotations

import json
from pathlib import Path

from tests.makers.elf import elf_bytes
from tests.makers.macho import macho_bytes
from tests.rules.bundle.trees import judged, only, tree

MAC = "macos-arm64-cpu"


def needing(*versions: str, library: str = "libc.so.6") -> bytes:
    return elf_bytes(needed=["libc.so.6", "libstdc++.so.6"], needs={library: list(versions)})


def test_b062_a_library_for_a_newer_glibc_is_stopped(tmp_path: Path) -> None:
    files = {
        "liba.so": needing("GLIBC_2.2.5", "GLIBC_2.38"), "libb.so": needing("GLIBC_2.36"),
        "libc1.so": needing("GLIBC_2.35", "GLIBC_PRIVATE"),
    }  # fmt: skip

    finding = only(tree(tmp_path, files), "glibc-floor")

    assert finding.message == "2 libraries need glibc 2.38, and 2.35 is promised"
    assert finding.evidence == {"2.36": "libb.so", "2.38": "liba.so"}


def test_b062_libstdcxx_is_held_to_its_promise_as_well(tmp_path: Path) -> None:
    files = {"liba.so": needing("GLIBCXX_3.4.32", library="libstdc++.so.6")}

    finding = only(tree(tmp_path, files), "glibc-floor")

    assert finding.message == "1 library needs libstdc++'s GLIBCXX 3.4.32, and 3.4.30 is promised"


def test_a_release_may_promise_more_or_nothing(tmp_path: Path) -> None:
    files = {"liba.so": needing("GLIBC_2.34")}
    about = {"schema": "vvbuild.bundle/1", "target": "linux-x64-cpu"}

    def rules(folder: Path, **floors: str) -> set[str]:
        tree(folder, files)
        (folder / "vvbuild.json").write_text(json.dumps({**about, "floors": floors}))
        return {each.rule for each in judged(folder)}

    assert "glibc-floor" not in rules(tmp_path / "a")
    assert "glibc-floor" in rules(tmp_path / "b", glibc="2.31")
    files["liba.so"] = needing("GLIBC_2.40")
    assert "glibc-floor" not in rules(tmp_path / "c", glibc="host")


def test_b058_b059_a_library_for_a_newer_macos_is_stopped(tmp_path: Path) -> None:
    files = {
        "liba.dylib": macho_bytes(minimum_os="14.0", signature="adhoc"),
        "libb.dylib": macho_bytes(minimum_os="13.4", signature="adhoc"),
        "libc.dylib": macho_bytes(minimum_os="15.1", old_minimum=True, signature="adhoc"),
    }

    finding = only(tree(tmp_path / "a", files, target=MAC), "macos-floor", target=MAC)

    assert finding.message == "2 libraries need macOS 15.1, and 13.4 is promised"
    del files["liba.dylib"], files["libc.dylib"]
    assert judged(tree(tmp_path / "b", files, target=MAC), target=MAC) == []


def test_a_cuda_for_newer_drivers_than_promised_is_stopped(tmp_path: Path) -> None:
    about = {"schema": "vvbuild.bundle/1", "target": "linux-x64-cuda"}
    files = {"libcublas.so.13": elf_bytes(soname="libcublas.so.13", needed=["libc.so.6"])}

    def found(folder: Path, **floors: str) -> list[str]:
        tree(folder, files, target="linux-x64-cuda")
        (folder / "vvbuild.json").write_text(json.dumps({**about, "floors": floors}))
        findings = judged(folder, target="linux-x64-cuda")
        return [each.message for each in findings if each.rule == "driver-too-new-needed"]

    assert found(tmp_path / "a", driver="525") == [
        "CUDA 13 needs a driver of 580 or newer, and 525 is promised"
    ]
    assert found(tmp_path / "b", driver="580") == []
    assert found(tmp_path / "c") == []
