"""The real zig, the real waf, the real sources: what vvbuild promises of its bootloaders."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bundle.conftest import EPOCH, EXTRA_SOURCES, Tools
from tests.bundle.pe_exports import exported_words
from vvbuild.bundle.bootloader import BootloaderBuild, Variant, build_bootloader
from vvbuild.errors import BootloaderError
from vvbuild.model.events import silent
from vvbuild.runtime.cancel import Cancel

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = [
    pytest.mark.network,
    # Mostly zig's work on its own C library, and as slow as the machine is busy.
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform == "win32", reason="tried on POSIX systems only"),
]

_LINUX = "x86_64-linux-gnu.2.17"
_EXPORTS = EXTRA_SOURCES[0].with_name("exports.toml")


@pytest.fixture
def build(tools: Tools, tmp_path: Path) -> Callable[..., BootloaderBuild]:
    def call(
        target: str,
        *,
        place: str = "plain",
        arch: str | None = None,
        variant: Variant = "release",
        extra: tuple[Path, ...] = EXTRA_SOURCES,
        zig_cache: Path | None = tools.zig_cache,
    ) -> BootloaderBuild:
        return build_bootloader(
            sdist=tools.sdist,
            zig=tools.zig,
            zig_target=target,
            waf_target_arch=arch,
            extra_sources=extra,
            variant=variant,
            work=tmp_path / place / "work",
            dest=tmp_path / place / "out",
            epoch=EPOCH,
            cancel=Cancel(),
            emit=silent,
            zig_cache=zig_cache,
        )

    return call


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def test_the_same_inputs_are_the_same_bytes_without_any_compiler_on_the_machine(
    build: Callable[..., BootloaderBuild],
    linux_bootloader: BootloaderBuild,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "ja_JP.eucJP")
    with _umask(0o077):
        second = build(_LINUX, place="with space 日本語", zig_cache=None)
    assert second.path.read_bytes() == linux_bootloader.path.read_bytes()
    assert second.text == linux_bootloader.text
    assert second.path.stat().st_mode == linux_bootloader.path.stat().st_mode


def test_a_linux_bootloader_asks_for_an_old_glibc_and_no_library_beside_it(
    linux_bootloader: BootloaderBuild,
) -> None:
    built = linux_bootloader
    assert (built.version, built.platform, built.machine) == ("6.22.3", "Linux-64bit-intel", "x64")
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
        build(_LINUX, extra=(source,))
    assert "vvbuild_wrong.c:1:" in caught.value.context["compiler"]
    assert "expected ';'" in caught.value.context["compiler"]
    assert "vvbuild_wrong.c" in (caught.value.hint or "")


def test_a_symbol_that_upstream_has_fails_with_the_linkers_words(
    build: Callable[..., BootloaderBuild], tmp_path: Path
) -> None:
    source = tmp_path / "vvbuild_twice.c"
    source.write_text("int pyi_main(int x) { return x; }\n")
    with pytest.raises(BootloaderError) as caught:
        build(_LINUX, extra=(source,))
    assert "duplicate symbol: pyi_main" in caught.value.context["compiler"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "arch", "machine", "platform"),
    [
        ("aarch64-linux-gnu.2.17", None, "arm64", "Linux-64bit-arm"),
        ("x86_64-macos", None, "x64", "Darwin-64bit"),
        ("aarch64-macos", None, "arm64", "Darwin-64bit"),
    ],
)
def test_other_systems_are_built_from_here_to_the_same_bytes(
    build: Callable[..., BootloaderBuild],
    target: str,
    arch: str | None,
    machine: str,
    platform: str,
) -> None:
    first = build(target, arch=arch)
    assert (first.machine, first.platform) == (machine, platform)
    assert build(target, arch=arch, place="elsewhere").sha256 == first.sha256


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "arch", "variant"),
    [
        ("x86_64-windows-gnu", "64bit", "release"),
        ("x86_64-windows-gnu", "64bit", "releasew"),
        ("aarch64-windows-gnu", "64bit-arm", "release"),
    ],
)
def test_a_windows_bootloader_exports_what_the_drivers_look_for(
    build: Callable[..., BootloaderBuild], target: str, arch: str, variant: Variant
) -> None:
    built = build(target, arch=arch, variant=variant)
    rows = tomllib.loads(_EXPORTS.read_text("utf-8"))["export"]
    assert len(rows) == 2
    assert exported_words(built.path) == {row["name"]: row["value"] for row in rows}
    again = build(target, arch=arch, variant=variant, place="elsewhere")
    assert again.sha256 == built.sha256
