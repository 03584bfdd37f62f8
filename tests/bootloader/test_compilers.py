"""Compilers of the machine: found, asked what they are, and refused before waf would be."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vvbuild.bootloader.compilers import Compiler, machine_compiler, zig_compiler
from vvbuild.errors import BootloaderError, ExitStatus, HostToolMissingError, UsageError
from vvbuild.model.target import Platform
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are POSIX programs")
LINUX, WINDOWS, MAC = (Platform.parse(each) for each in ("linux-x64", "win-x64", "macos-arm64"))

_STAND_IN = """import sys
print({{"-dumpmachine": {machine!r}, "--version": {version!r} + "\\nCopyright"}}[sys.argv[1]])
"""


@pytest.fixture
def programs(script: Callable[[str, str], Path]) -> Callable[..., str]:
    """Programs in a folder of their own, which is all that ``PATH`` has."""

    def make(name: str, machine: str, version: str = "gcc (Debian) 12.2", ar: str = "ar") -> str:
        path = script(name, _STAND_IN.format(machine=machine, version=version))
        if ar:
            script(ar, "")
        return str(path.parent)

    return make


def find(name: str, where: Platform, search: str) -> Compiler:
    return machine_compiler(name, where, Cancel(), search=search)


@pytest.mark.parametrize(
    ("name", "program", "machine", "where", "option"),
    [
        ("gcc", "gcc", "x86_64-linux-gnu", LINUX, "--gcc"),
        ("gcc", "gcc", "x86_64-redhat-linux", LINUX, "--gcc"),
        ("mingw", "x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32", WINDOWS, "--gcc"),
        ("mingw", "aarch64-w64-mingw32-gcc", "aarch64-w64-mingw32", Platform("win", "arm64"),
         "--gcc"),
        ("clang", "clang", "arm64-apple-darwin23.5.0", MAC, "--clang"),
    ],
)  # fmt: skip
def test_a_compiler_of_the_machine_is_told_by_its_bytes(
    programs: Callable[..., str],
    name: str,
    program: str,
    machine: str,
    where: Platform,
    option: str,
) -> None:
    version = "Apple clang version 15.0.0" if name == "clang" else "gcc (Debian) 12.2"
    folder = programs(program, machine, version)

    compiler = find(name, where, folder)

    assert compiler.command == (f"{folder}/{program}",)
    assert compiler.options == (option,)
    assert compiler.identity == {
        "name": program,
        "version": version,
        "target": machine,
        "sha256": hash_file(Path(folder, program)).hex,
    }


@pytest.mark.parametrize(
    ("machine", "where"),
    [
        ("x86_64-linux-gnu", WINDOWS),
        ("x86_64-linux-gnu", Platform("linux", "arm64")),
        ("x86_64-w64-mingw32", LINUX),
        ("riscv64-linux-gnu", LINUX),
        ("x86_64-apple-darwin23", LINUX),
    ],
)
def test_a_compiler_for_another_platform_is_refused_before_anything_is_built(
    programs: Callable[..., str], machine: str, where: Platform
) -> None:
    with pytest.raises(BootloaderError, match=f"gcc makes programs for {machine}, not for {where}"):
        find("gcc", where, programs("gcc", machine))


@pytest.mark.parametrize(
    ("name", "where", "named"),
    [
        ("gcc", LINUX, "apt install gcc"),
        ("clang", MAC, "xcode-select"),
        ("mingw", WINDOWS, "apt install gcc-mingw-w64-x86-64"),
        ("tcc", LINUX, "zig, gcc, clang, mingw, msvc"),
        ("/nowhere/gcc", LINUX, "zig, gcc, clang, mingw, msvc"),
    ],
)
def test_a_compiler_that_is_not_there_is_named_with_the_way_to_get_it(
    tmp_path: Path, name: str, where: Platform, named: str
) -> None:
    with pytest.raises(HostToolMissingError) as caught:
        find(name, where, str(tmp_path))
    assert named in (caught.value.hint or "")
    assert caught.value.exit_status is ExitStatus.MISSING


def test_a_compiler_without_its_ar_is_refused(programs: Callable[..., str]) -> None:
    with pytest.raises(HostToolMissingError, match="no ar beside gcc"):
        find("gcc", LINUX, programs("gcc", "x86_64-linux-gnu", ar=""))


def test_a_cross_compiler_comes_with_its_own_ar(programs: Callable[..., str]) -> None:
    programs("x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32", ar="x86_64-w64-mingw32-ar")
    folder = programs("gcc", "x86_64-linux-gnu")

    archiver = find("mingw", WINDOWS, folder).archiver

    assert archiver == (f"{folder}/x86_64-w64-mingw32-ar",)


def test_mingw_is_for_windows_alone(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mingw makes programs for Windows"):
        find("mingw", LINUX, str(tmp_path))


def test_msvc_is_on_windows_alone(tmp_path: Path) -> None:
    with pytest.raises(HostToolMissingError, match="MSVC runs on Windows only"):
        find("msvc", WINDOWS, str(tmp_path))


def test_ccache_is_used_where_there_is_one(
    programs: Callable[..., str], script: Callable[[str, str], Path]
) -> None:
    folder = programs("gcc", "x86_64-linux-gnu")
    plain = find("gcc", LINUX, folder)
    script("ccache", "")

    cached = find("gcc", LINUX, folder)

    assert cached.command == (f"{folder}/ccache", f"{folder}/gcc")
    # It is not part of what the compiler is: it gives the same bytes.
    assert cached.identity == plain.identity


def test_a_zig_that_cannot_be_started_is_refused_before_waf_hides_it(tmp_path: Path) -> None:
    (tmp_path / "zig").write_text("not executable")
    with pytest.raises(BootloaderError, match="cannot be started"):
        zig_compiler(tmp_path / "zig", LINUX, {})
    with pytest.raises(BootloaderError, match="cannot be started"):
        zig_compiler(tmp_path, LINUX, {})
