"""What files of three formats ask their loaders for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.makers.elf import make_elf
from tests.makers.macho import macho_bytes, make_fat, make_macho
from tests.makers.pe import make_pe
from vvbuild.binary.identify import read_binary
from vvbuild.linking.linkage import Linkage, linkage_of


def read(path: Path, **options: object) -> Linkage:
    binary = read_binary(path)
    assert binary is not None
    return linkage_of(f"lib/{path.name}", binary, **options)  # type: ignore[arg-type]


def hows(linkage: Linkage) -> dict[str, str]:
    return {need.name: need.how for need in linkage.needs}


def test_a_library_is_known_by_its_soname_else_by_its_file(tmp_path: Path) -> None:
    assert read(make_elf(tmp_path / "a.so.1.2", soname="a.so.1")).name == "a.so.1"
    assert read(make_elf(tmp_path / "b.so", needed=["x"])).name == "b.so"


@pytest.mark.parametrize(
    ("paths", "search", "before"),
    [
        ({"rpath": "$ORIGIN:/a"}, ("$ORIGIN", "/a"), True),
        ({"runpath": "$ORIGIN"}, ("$ORIGIN",), False),
        ({"rpath": "/a", "runpath": "/b"}, ("/b",), False),
        ({}, (), False),
    ],
)
def test_an_rpath_is_none_beside_a_runpath(
    tmp_path: Path, paths: dict[str, str], search: tuple[str, ...], before: bool
) -> None:
    linkage = read(make_elf(tmp_path / "a.so", needed=["b"], **paths))

    assert (linkage.search, linkage.before) == (search, before)


def test_names_that_only_symbol_versions_tell_are_needs_too(tmp_path: Path) -> None:
    path = make_elf(tmp_path / "a.so", needed=["b"], needs={"b": ["B_1"], "c": ["C_1"]})

    linkage = read(path)

    assert hows(linkage) == {"b": "load", "c": "versions"}
    assert all(need.hard for need in linkage.needs)


def test_of_a_dll_delayed_imports_are_told_apart(tmp_path: Path) -> None:
    linkage = read(
        make_pe(tmp_path / "a.dll", dll=True, imports=["b.dll"], delay_imports=["C.dll"])
    )

    assert hows(linkage) == {"b.dll": "load", "C.dll": "delay"}
    assert [need.hard for need in linkage.needs] == [True, False]
    assert (linkage.os, linkage.name) == ("win", "a.dll")


def test_of_a_dylib_weak_ones_are_told_apart(tmp_path: Path) -> None:
    path = make_macho(
        tmp_path / "a.dylib", install_name="@rpath/a.1.dylib", rpaths=["@loader_path"],
        dependencies=["@rpath/b.dylib", ("@rpath/c.dylib", "weak")],
    )  # fmt: skip
    linkage = read(path)

    assert hows(linkage) == {"@rpath/b.dylib": "load", "@rpath/c.dylib": "weak"}
    assert (linkage.name, linkage.search) == ("a.1.dylib", ("@loader_path",))


def test_of_a_file_for_several_processors_the_targets_part_counts(tmp_path: Path) -> None:
    parts = [macho_bytes(cpu=cpu, dependencies=[cpu]) for cpu in ("x64", "arm64")]
    path = make_fat(tmp_path / "a.dylib", parts)

    assert [each.name for each in read(path, arch="arm64").needs] == ["arm64"]
    assert read(path).arch == "x64"


def test_what_its_bytes_show_it_to_open_is_asked_but_not_its_own_name(tmp_path: Path) -> None:
    path = make_elf(tmp_path / "a.so", soname="a.so", needed=["b"])

    assert hows(read(path, asks=["a.so", "c.so"])) == {"b": "load", "c.so": "weak"}
