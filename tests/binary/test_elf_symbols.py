from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.makers.elf import elf_bytes, make_elf
from vvbuild.binary.elf_symbols import ElfSymbol, read_symbols
from vvbuild.errors import BinaryMalformedError

_NEEDS = {"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.14"]}
_UNDEFINED = ["malloc@GLIBC_2.2.5", "memcpy@GLIBC_2.14", "other"]


@pytest.mark.parametrize("gnu_hash", [False, True])
@pytest.mark.parametrize(("bits", "big"), [(64, False), (64, True), (32, False), (32, True)])
def test_every_symbol_has_its_version_and_library(
    tmp_path: Path, gnu_hash: bool, bits: int, big: bool
) -> None:
    path = make_elf(
        tmp_path / "x",
        bits=bits,
        big=big,
        soname="libx.so.1",
        needs=_NEEDS,
        defines=["V_1", "V_2"],
        exports=["one@@V_2", "one@V_1", "three"],
        undefined=_UNDEFINED,
        gnu_hash=gnu_hash,
    )
    symbols = read_symbols(path)
    assert symbols.undefined == (
        ElfSymbol("malloc", "GLIBC_2.2.5", "libc.so.6"),
        ElfSymbol("memcpy", "GLIBC_2.14", "libc.so.6"),
        ElfSymbol("other"),
    )
    assert symbols.exported == (
        ElfSymbol("one", "V_2"),
        ElfSymbol("one", "V_1", hidden=True),
        ElfSymbol("three"),
    )
    assert symbols.exported_names == {"one", "three"}
    assert symbols.undefined_names == {"malloc", "memcpy", "other"}


def test_a_library_without_versions_has_symbols_all_the_same(tmp_path: Path) -> None:
    path = make_elf(tmp_path / "x", exports=["given"], undefined=["asked"], headers=False)
    symbols = read_symbols(path)
    assert (symbols.undefined, symbols.exported) == ((ElfSymbol("asked"),), (ElfSymbol("given"),))


def test_a_program_that_gives_nothing_is_read_by_its_relocations(tmp_path: Path) -> None:
    """Its hash table is empty, so that this does not tell how many symbols there are."""
    path = make_elf(
        tmp_path / "x", undefined=_UNDEFINED, needs=_NEEDS, gnu_hash=True, relocations=True
    )
    assert read_symbols(path).undefined_names == {"malloc", "memcpy", "other"}


def test_a_static_program_has_no_dynamic_symbols(tmp_path: Path) -> None:
    symbols = read_symbols(make_elf(tmp_path / "x", kind="exec"))
    assert (symbols.undefined, symbols.exported) == ((), ())


def test_an_absurd_number_of_symbols_is_refused(tmp_path: Path) -> None:
    data = elf_bytes(exports=["a"], undefined=["b"], headers=False)
    table = struct.pack("<IIII", 1, 3, 1, 0)  # buckets, symbols, the bucket, the first link
    assert data.count(table) == 1
    path = tmp_path / "x"
    path.write_bytes(data.replace(table, struct.pack("<IIII", 1, 0xFFFF_FFFF, 1, 0)))
    with pytest.raises(BinaryMalformedError, match="symbols"):
        read_symbols(path)
