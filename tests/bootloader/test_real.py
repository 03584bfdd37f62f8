"""The real zig, the real waf, the real sources: what vvbuild promises of its bootloaders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bootloader.pe_exports import exported_words
from tests.workshop import EPOCH, Tools, real_bootloader
from vvbuild.binary.program import look_at
from vvbuild.bootloader.build import BootloaderBuild, BuiltFile, Variant
from vvbuild.bootloader.compilers import machine_compiler
from vvbuild.errors import BootloaderError
from vvbuild.manifest.bootloader import hint_values
from vvbuild.model.target import Platform
from vvbuild.runtime.cancel import Cancel

pytestmark = [
    pytest.mark.network,
    # Mostly zig's work on its own C library, and as slow as the machine is busy.
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform == "win32", reason="tried on POSIX systems only"),
]

LINUX, WINDOWS = Platform("linux", "x64"), Platform("win", "x64")
FOLDERS = {
    "linux-arm64": "Linux-64bit-arm", "macos-x64": "Darwin-64bit", "macos-arm64": "Darwin-64bit",
}  # fmt: skip


@pytest.fixture
def build(tools: Tools, tmp_path: Path) -> Callable[..., BootloaderBuild]:
    def call(where: Platform, *, place: str = "plain", **options: object) -> BootloaderBuild:
        return real_bootloader(tools, tmp_path / place, where=where, **options)  # type: ignore[arg-type]

    return call


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.slow
def test_the_same_inputs_are_the_same_bytes_without_any_compiler_on_the_machine(
    build: Callable[..., BootloaderBuild],
    linux_bootloader: BuiltFile,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "ja_JP.eucJP")
    with _umask(0o077):
        (second,) = build(LINUX, place="with space 日本語", zig_cache=tmp_path / "zig").files
    assert second.path.read_bytes() == linux_bootloader.path.read_bytes()
    assert second.text == linux_bootloader.text
    assert second.path.stat().st_mode == linux_bootloader.path.stat().st_mode


def test_a_linux_bootloader_asks_for_an_old_glibc_and_no_library_beside_it(
    linux_bootloader: BuiltFile,
) -> None:
    built = linux_bootloader
    assert (built.machine, built.exports) == ("x64", {})
    assert built.elf is not None
    assert built.elf.floors == {"GLIBC": "2.14"}
    assert set(built.elf.needed) == {"libc.so.6", "libpthread.so.0", "libdl.so.2"}
    assert built.elf.runpath == built.elf.rpath == ()


def test_an_error_in_an_extra_file_shows_the_compilers_words(
    build: Callable[..., BootloaderBuild], tmp_path: Path
) -> None:
    source = tmp_path / "vvbuild_wrong.c"
    source.write_text("int vvbuild_wrong(void) { return 1 }\n")
    with pytest.raises(BootloaderError) as caught:
        build(LINUX, extra=(source,))
    assert "vvbuild_wrong.c:1:" in caught.value.context["compiler"]
    assert "expected ';'" in caught.value.context["compiler"]
    assert "vvbuild_wrong.c" in (caught.value.hint or "")


@pytest.mark.slow
def test_a_symbol_that_upstream_has_fails_with_the_linkers_words(
    build: Callable[..., BootloaderBuild], tmp_path: Path
) -> None:
    source = tmp_path / "vvbuild_twice.c"
    source.write_text("int pyi_main(int x) { return x; }\n")
    with pytest.raises(BootloaderError) as caught:
        build(LINUX, extra=(source,))
    assert "duplicate symbol: pyi_main" in caught.value.context["compiler"]


def test_the_extra_files_are_nothing_on_linux(
    build: Callable[..., BootloaderBuild], linux_bootloader: BuiltFile
) -> None:
    """With or without them the program is the same, to the byte."""
    (plain,) = build(LINUX, extra=()).files
    assert plain.sha256 == linux_bootloader.sha256


@pytest.mark.slow
@pytest.mark.parametrize("where", ["linux-arm64", "macos-x64", "macos-arm64"])
def test_other_systems_are_built_from_here_to_the_same_bytes(
    build: Callable[..., BootloaderBuild], where: str
) -> None:
    wanted = Platform.parse(where)
    first = build(wanted)
    assert (first.files[0].machine, first.platform) == (wanted.arch, FOLDERS[where])
    assert build(wanted, place="elsewhere", extra=()).files[0].sha256 == first.files[0].sha256


@pytest.mark.slow
@pytest.mark.parametrize("where", ["win-x64", "win-arm64"])
def test_a_windows_bootloader_exports_what_the_drivers_look_for(
    build: Callable[..., BootloaderBuild], where: str
) -> None:
    variants: tuple[Variant, ...] = ("release", "debug", "releasew", "debugw")
    files = build(Platform.parse(where), variants=variants).files
    assert [file.path.name for file in files] == ["run.exe", "run_d.exe", "runw.exe", "runw_d.exe"]
    for file in files:
        # By the tests' own reader, beside the one that judged it.
        assert exported_words(file.path) == file.exports == hint_values()
    again = build(Platform.parse(where), variants=variants, place="elsewhere").files
    assert [file.sha256 for file in again] == [file.sha256 for file in files]


# Compilers of the machine


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_machines_gcc_gives_the_same_bytes_in_any_directory(
    build: Callable[..., BootloaderBuild],
) -> None:
    compiler = machine_compiler("gcc", LINUX, Cancel())
    (first,) = build(LINUX, compiler=compiler).files
    (second,) = build(LINUX, compiler=compiler, place="with space 日本語").files
    assert first.sha256 == second.sha256
    assert compiler.identity["sha256"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("x86_64-w64-mingw32-gcc") is None, reason="needs mingw-w64")
def test_mingw_gives_the_same_bytes_on_another_day(
    build: Callable[..., BootloaderBuild], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCACHE_DISABLE", "1")
    compiler = machine_compiler("mingw", WINDOWS, Cancel())
    (first,) = build(WINDOWS, compiler=compiler).files
    assert first.exports == hint_values()
    if (faketime := shutil.which("faketime")) is not None:
        # The compiler believes in another year; waf need not.
        folder = first.path.parents[1] / "bin"
        folder.mkdir()
        slow = folder / "x86_64-w64-mingw32-gcc"
        real = shutil.which("x86_64-w64-mingw32-gcc")
        slow.write_text(f'#!/bin/sh\nexec {faketime} 2031-02-03 {real} "$@"\n')
        slow.chmod(0o755)
        compiler = machine_compiler(str(slow), WINDOWS, Cancel())
    (second,) = build(WINDOWS, compiler=compiler, place="elsewhere").files
    assert second.sha256 == first.sha256


# Under Wine

Wine = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def wine(tmp_path_factory: pytest.TempPathFactory) -> Wine:
    """Run a Windows program in a prefix of the tests' own."""
    prefix = tmp_path_factory.mktemp("wine")
    environment = {**os.environ, "WINEPREFIX": str(prefix), "WINEDEBUG": "-all"}

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["wine", *words], env=environment, capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip

    return run


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("wine") is None, reason="needs Wine")
def test_under_wine_it_starts_and_misses_its_archive(
    build: Callable[..., BootloaderBuild],
    wine: Wine,
) -> None:
    (file,) = build(WINDOWS).files
    done = wine(file.path)
    assert done.returncode != 0
    assert "embedded PKG archive" in done.stdout + done.stderr
    assert int.from_bytes(_timestamp(file.path), "little") == EPOCH


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("wine") is None, reason="needs Wine")
def test_windows_own_loader_finds_the_hints_also_after_freezing_changed_the_file(
    build: Callable[..., BootloaderBuild],
    wine: Wine,
    tools: Tools,
    tmp_path: Path,
) -> None:
    loader = tmp_path / "loader.exe"
    source = Path(__file__).with_name("wine_loader.c")
    subprocess.run(
        [tools.zig, "cc", "-target", "x86_64-windows-gnu", source, "-o", loader],
        env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(tools.zig_cache)}, check=True,
    )  # fmt: skip
    expected = "".join(f"{name} {value}\n" for name, value in hint_values().items())
    variants: tuple[Variant, ...] = ("release", "debug", "releasew", "debugw")
    for file in build(WINDOWS, variants=variants).files:
        for change in (None, "resources", "archive"):
            if change == "resources":
                assert wine(loader, "resources", file.path).stdout.strip() == "changed"
            elif change == "archive":
                with file.path.open("ab") as stream:
                    stream.write(b"MEI\014\013\012\013\016" * 20_000)
            shown = wine(loader, "read", file.path, *hint_values()).stdout
            assert shown.replace("\r", "") == expected, (file.variant, change)
            seen = look_at(file.path, frozenset(hint_values()))
            assert (seen.exports, seen.pyinstaller) == (hint_values(), "6.22.3")


def _timestamp(path: Path) -> bytes:
    data = path.read_bytes()
    header = int.from_bytes(data[60:64], "little")
    return data[header + 8 : header + 12]
