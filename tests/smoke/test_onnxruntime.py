import subprocess

import pytest

from vvbuild.runtime.cancel import Cancel
from vvbuild.smoke.checks import CheckFailedError, NotOfferedError
from vvbuild.smoke.onnxruntime import check_onnxruntime, find_library
from vvbuild.smoke.subject import Subject


def subject(directory, promised=None):
    return Subject(directory, ("run",), "n", "u", "1", promised)


def library(directory, code):
    """A shared library of our own, made by the C compiler."""
    source = directory / "made.c"
    source.write_text(code)
    built = directory / "libonnxruntime.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", built, source], check=True)


cc = pytest.mark.skipif(
    subprocess.run(["sh", "-c", "command -v cc"], capture_output=True).returncode != 0,
    reason="needs a C compiler",
)


def test_a_bundle_without_the_library_has_nothing_to_ask(tmp_path):
    with pytest.raises(NotOfferedError):
        check_onnxruntime(subject(tmp_path), Cancel())


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("libonnxruntime.so", "libvoicevox_onnxruntime.so"), "libvoicevox_onnxruntime.so"),
        (("onnxruntime.dll", "onnxruntime_providers_shared.dll"), "onnxruntime.dll"),
        (("libonnxruntime.dylib",), "libonnxruntime.dylib"),
        (("libonnxruntime.so.1.23.2", "libonnxruntime_providers_cuda.so"), None),
    ],
)
def test_the_library_is_found_by_the_name_that_the_engine_opens(tmp_path, names, found):
    for name in names:
        (tmp_path / name).touch()
    path = find_library(tmp_path)
    assert (path and path.name) == found


def test_a_real_library_tells_its_version(sample_bundle):
    passed = check_onnxruntime(subject(sample_bundle, promised="1.23.2"), Cancel())
    assert passed.value == "1.23.2"
    assert "CPUExecutionProvider" in passed.detail


def test_a_library_other_than_the_promised_one_is_a_failure(sample_bundle):
    with pytest.raises(CheckFailedError, match=r"1\.23\.2, vvbuild.json says 1\.17\.3"):
        check_onnxruntime(subject(sample_bundle, promised="1.17.3"), Cancel())


@cc
def test_a_library_that_crashes_is_a_failure_and_not_our_end(tmp_path):
    library(tmp_path, "void *OrtGetApiBase(void) { *(volatile int *)0 = 1; return 0; }")
    with pytest.raises(CheckFailedError, match="-11"):
        check_onnxruntime(subject(tmp_path), Cancel())


@cc
def test_a_library_that_ends_the_process_is_a_failure(tmp_path):
    library(tmp_path, "#include <stdlib.h>\nvoid *OrtGetApiBase(void) { _Exit(0); }")
    with pytest.raises(CheckFailedError, match="ended the process"):
        check_onnxruntime(subject(tmp_path), Cancel())


@cc
def test_a_library_that_is_something_else_is_a_failure(tmp_path):
    library(tmp_path, "int x;")
    with pytest.raises(CheckFailedError, match="not ONNX Runtime"):
        check_onnxruntime(subject(tmp_path), Cancel())
