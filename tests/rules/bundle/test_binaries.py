"""Programs and libraries as such."""

from __future__ import annotations

import pytest

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
