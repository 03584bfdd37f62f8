from __future__ import annotations

from pathlib import Path

import pytest

from tests.makers.elf import elf_bytes, make_elf
from vvbuild.binary import elf_sections
from vvbuild.binary.elf_sections import library_names, read_sections
from vvbuild.errors import BinaryMalformedError


@pytest.mark.parametrize(("bits", "big"), [(64, False), (32, True)])
def test_sections_tell_where_their_bytes_lie(tmp_path: Path, bits: int, big: bool) -> None:
    path = make_elf(tmp_path / "x", bits=bits, big=big, sections={".nv_fatbin": b"kernels"})
    section = next(one for one in read_sections(path) if one.name == ".nv_fatbin")
    assert path.read_bytes()[section.offset : section.offset + section.size] == b"kernels"


def test_a_file_stripped_of_its_sections_has_none(tmp_path: Path) -> None:
    assert read_sections(make_elf(tmp_path / "x", headers=False)) == ()


def test_a_number_of_sections_that_no_linker_makes_is_refused(tmp_path: Path) -> None:
    data = bytearray(elf_bytes())
    at = int.from_bytes(data[40:48], "little")
    data[60:62] = bytes(2)  # then the number stands in the first section header
    data[at + 32 : at + 40] = (1 << 40).to_bytes(8, "little")
    path = tmp_path / "x"
    path.write_bytes(bytes(data))
    with pytest.raises(BinaryMalformedError, match="sections"):
        read_sections(path)


_TEXT = b"\0/usr/lib/libcuda.so.1\0no library.so here\0libcudnn_graph.so\0lib%s.so.x\0x.some\0.so\0"


def test_names_of_libraries_are_found_among_the_constants(tmp_path: Path) -> None:
    path = make_elf(tmp_path / "x", sections={".rodata": _TEXT, ".nv_fatbin": b"\0libno.so\0"})
    assert library_names(path) == ("libcuda.so.1", "libcudnn_graph.so")


def test_a_name_across_two_reads_is_found(tmp_path: Path) -> None:
    data = (b"\0" * ((1 << 20) - 7)) + b"libcudnn.so.9\0" + bytes(10)
    assert library_names(make_elf(tmp_path / "x", sections={".rodata": data})) == ("libcudnn.so.9",)


def test_without_sections_the_segments_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_elf(tmp_path / "x", needed=["libc.so.6"], headers=False)
    data = bytearray(path.read_bytes())
    data[64 + 4 : 64 + 8] = (4).to_bytes(4, "little")  # its segment may only be read
    path.write_bytes(bytes(data))
    assert library_names(path) == ("libc.so.6",)
    monkeypatch.setattr(elf_sections, "_MOST_TEXT_BYTES", 0)
    assert library_names(path) == ()
