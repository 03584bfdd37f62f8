"""Names of libraries in the bytes of those that open them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vvbuild.manifest.bytes import bytes_tables
from vvbuild.verify import asked
from vvbuild.verify.asked import asked_names

CORE = "libvoicevox_core.so"
NAME = b"libvoicevox_onnxruntime.so.1.17.3"


def names(path: Path) -> tuple[str, ...]:
    return asked_names(path, bytes_tables().loading)


def test_only_files_that_a_row_is_about_are_read(tmp_path: Path) -> None:
    for name in (CORE, "libother.so"):
        (tmp_path / name).write_bytes(b"\0" + NAME + b"\0")

    assert names(tmp_path / CORE) == (NAME.decode(),)
    assert names(tmp_path / "libother.so") == ()


@given(before=st.integers(0, 1500), after=st.integers(0, 1500))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_name_is_found_whole_wherever_chunks_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, after: int
) -> None:
    monkeypatch.setattr(asked, "_CHUNK", 600)
    path = tmp_path / CORE
    path.write_bytes(b"\1" * before + b"\0" + NAME + b"\0" + b"\2" * after)

    assert names(path) == (NAME.decode(),)


def test_several_names_in_a_row_are_all_found(tmp_path: Path) -> None:
    path = tmp_path / CORE
    path.write_bytes(b"\0".join([b"libonnxruntime.so.1.16.3", NAME, b"onnxruntime.dll", b"x"]))

    assert names(path) == ("libonnxruntime.so.1.16.3", NAME.decode(), "onnxruntime.dll")


def test_a_name_that_goes_on_is_another_one(tmp_path: Path) -> None:
    (tmp_path / CORE).write_bytes(b"onnxruntime.dllx\0")

    assert names(tmp_path / CORE) == ()
