"""Where constants lie in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.makers.elf import elf_bytes, make_elf
from tests.makers.macho import make_macho
from tests.makers.pe import make_pe
from vvbuild.binary.constants import constant_ranges
from vvbuild.errors import BinaryMalformedError

NAME = b"libasked.so.1"


def bytes_of(path: Path) -> bytes:
    data = path.read_bytes()
    return b"|".join(data[at : at + size] for at, size in constant_ranges(path))


@pytest.mark.parametrize(
    ("make", "section", "seen"),
    [
        (make_elf, ".rodata", True),
        (make_elf, ".nv_fatbin", False),
        (make_pe, ".rdata", True),
        (make_pe, ".nv_fatb", False),
        (make_pe, ".text", False),
    ],
)
def test_code_for_a_processor_or_a_gpu_is_left_out(
    tmp_path: Path, make: Callable[..., Path], section: str, seen: bool
) -> None:
    path = make(tmp_path / "x", sections={".data": b"d", section: NAME})

    assert (NAME in bytes_of(path)) == seen


def test_what_lies_in_no_section_counts(tmp_path: Path) -> None:
    for make in (make_elf, make_pe):
        assert NAME in bytes_of(make(tmp_path / "x", data=NAME))


@given(st.binary(max_size=300), st.integers(0, 4000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_ranges_lie_in_the_file_in_order_whatever_it_holds(
    tmp_path: Path, noise: bytes, at: int
) -> None:
    data = bytearray(elf_bytes(soname="x", sections={".rodata": NAME, ".nv_fatbin": b"g" * 99}))
    data[at : at + len(noise)] = noise
    path = tmp_path / "x"
    path.write_bytes(data)

    end = 0
    for start, size in constant_ranges(path):
        assert start >= end
        assert size > 0
        end = start + size
    assert end <= len(data)


def test_all_of_a_file_counts_where_nothing_tells_its_parts(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"text")
    stripped = make_elf(tmp_path / "stripped", soname="x", headers=False)
    for path in (plain, stripped, make_macho(tmp_path / "x.dylib")):
        assert constant_ranges(path) == [(0, path.stat().st_size)]


def test_sections_that_make_no_sense_tell_nothing(tmp_path: Path) -> None:
    path = make_elf(tmp_path / "x", sections={".rodata": NAME})
    data = bytearray(path.read_bytes())
    data[0x3A] = 1  # the size of a section header
    path.write_bytes(data)

    assert constant_ranges(path) == [(0, len(data))]


def test_a_folder_has_none(tmp_path: Path) -> None:
    with pytest.raises(BinaryMalformedError):
        constant_ranges(tmp_path)
