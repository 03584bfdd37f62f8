"""Programs and libraries as such."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.makers.elf import elf_bytes
from tests.makers.macho import fat_bytes, macho_bytes
from tests.makers.pe import pe_bytes
from tests.rules.bundle import trees
from tests.rules.bundle.good import bundle, elf, file, found, only, windows


def test_b055_a_library_for_another_processor_is_stopped() -> None:
    evidence = bundle(file("lib/deep/x.so", binary=elf("arm64")))

    finding = only(evidence, "wrong-arch")
    assert finding.path == "lib/deep/x.so"
    assert finding.evidence == {"machine": "arm64"}


# Bytes


@pytest.mark.parametrize("path", ["run", "libonnxruntime.so", "lib/x.so", "lib/x.so.1.2"])
def test_b115_what_was_cut_off_or_is_an_error_page_is_stopped(path: str) -> None:
    kind = "program" if path == "run" else "file"

    assert ("binary-malformed", path) in found(bundle(file(path, kind=kind)))


@pytest.mark.parametrize("path", ["x.dll", "engine_internal/x.pyd", "other.exe"])
def test_b115_on_windows_too(path: str) -> None:
    assert only(windows(file(path)), "binary-malformed").path == path
    assert found(bundle(file(path))) == []


def test_b115_a_file_whose_headers_are_damaged_is_stopped_whatever_it_is_called() -> None:
    files = [file(name, malformed="a segment lies behind the end") for name in ("a.bin", "b.bin")]

    finding = only(bundle(*files), "binary-malformed")
    assert finding.message == "2 files: each cannot be read: a segment lies behind the end"


def test_b115_an_empty_library_is_one_finding() -> None:
    only(bundle(file("x.so", size=0)), "zero-byte-data")


@pytest.mark.parametrize("path", ["x.sofa", "x.so.txt", "so", "x.py", "lib.so.d/readme"])
def test_files_that_are_no_libraries_need_not_be(path: str) -> None:
    assert found(bundle(file(path))) == []


MAC = "macos-arm64-cpu"


def test_b055_every_format_is_held_to_the_targets_processor(tmp_path: Path) -> None:
    for target, name, data in (
        ("win-x64-cpu", "a.dll", pe_bytes(machine="arm64", dll=True)),
        (MAC, "liba.dylib", macho_bytes(cpu="x64", signature="adhoc")),
        ("linux-arm64-cpu", "liba.so", elf_bytes(machine="x64", needed=["libc.so.6"])),
    ):
        folder = trees.tree(tmp_path / target, {name: data}, target=target)
        assert trees.only(folder, "wrong-arch", target=target).path == name


def test_a_fat_file_serves_each_of_its_processors(tmp_path: Path) -> None:
    parts = [macho_bytes(cpu=cpu, signature="adhoc") for cpu in ("x64", "arm64")]
    folder = trees.tree(tmp_path, {"liba.dylib": fat_bytes(parts)}, target=MAC)

    assert trees.judged(folder, target=MAC) == []


def test_b071_a_signature_that_its_bytes_left_behind_is_stopped(tmp_path: Path) -> None:
    data = bytearray(macho_bytes(install_name="@rpath/liba.dylib", signature="adhoc"))
    at = bytes(data).index(b"@rpath/liba")
    data[at + 7 : at + 11] = b"libb"

    finding = trees.only(
        trees.tree(tmp_path, {"liba.dylib": bytes(data)}, target=MAC),
        "signature-stale", target=MAC,
    )  # fmt: skip

    assert "pages have other hashes" in finding.message


def test_b071_an_unsigned_library_for_arm64_is_stopped_and_for_x64_passes(tmp_path: Path) -> None:
    folder = trees.tree(tmp_path / "a", {"liba.dylib": macho_bytes(cpu="arm64")}, target=MAC)
    assert trees.only(folder, "signature-stale", target=MAC).path == "liba.dylib"

    other = "macos-x64-cpu"
    folder = trees.tree(tmp_path / "b", {"liba.dylib": macho_bytes(cpu="x64")}, target=other)
    assert trees.judged(folder, target=other) == []


def test_b079_a_framework_is_made_of_links(tmp_path: Path) -> None:
    inside = "engine_internal/Python.framework"
    library = macho_bytes(signature="adhoc")
    folder = trees.tree(tmp_path / "a", {f"{inside}/Versions/3.11/Python": library}, target=MAC)
    (folder / inside / "Versions/Current").symlink_to("3.11")
    (folder / inside / "Python").symlink_to("Versions/Current/Python")
    assert trees.judged(folder, target=MAC) == []

    (folder / inside / "Python").unlink()
    (folder / inside / "Python").write_bytes(library)
    finding = trees.only(folder, "framework-links", target=MAC)
    assert finding.message == "Python should be links into Versions/Current"

    (folder / inside / "Versions/Current").unlink()
    (folder / inside / "Python").unlink()
    finding = trees.only(folder, "framework-links", target=MAC)
    assert finding.message == "Versions/Current is not a link"
