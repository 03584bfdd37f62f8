"""What stands between waf and zig, and what is read from waf's words."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vvbuild.bootloader import waf_cc
from vvbuild.bootloader.compilers import Compiler
from vvbuild.bootloader.room import plain_directory, write_tools
from vvbuild.bootloader.waf_cc import compiler_command
from vvbuild.bootloader.waf_log import failure_context, progress_of

_TARGET = "x86_64-linux-gnu.2.17"
_SETTINGS = {
    "command": ["/store/zig", "cc", "-target", _TARGET],
    "replaced": {"-m64": "", "-mwindows": "-Wl,--subsystem,windows"},
    "preprocessor": {_TARGET: "x86_64-linux-gnu"},
}


def test_the_compiler_is_zig_for_the_target_with_its_glibc() -> None:
    command = compiler_command(_SETTINGS, ["-O2", "-c", "main.c"])
    assert command == ["/store/zig", "cc", "-target", _TARGET, "-O2", "-c", "main.c"]


def test_the_preprocessor_gets_a_target_without_versions() -> None:
    command = compiler_command(_SETTINGS, ["-dM", "-E", "-"])
    assert command[3] == "x86_64-linux-gnu"


def test_arguments_that_zig_refuses_are_replaced_as_whole_words() -> None:
    command = compiler_command(_SETTINGS, ["-m64", "-mwindows", "-m640", "x-m64"])
    assert command[4:] == ["-Wl,--subsystem,windows", "-m640", "x-m64"]


@pytest.mark.skipif(sys.platform == "win32", reason="a Windows launcher is a .cmd file")
def test_the_compiler_runs_from_any_path_and_ignores_the_users_python_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zig = tmp_path / "with space 日本語's" / "zig"
    zig.parent.mkdir()
    zig.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    zig.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "json.py").write_text("raise SystemExit('imported by accident')")
    compiler = Compiler(
        "zig", (str(zig), "cc", "-target", "T"), (str(zig), "ar"), {}, replaced={"-m64": ""}
    )
    tools = write_tools(tmp_path / "tools", python=Path(sys.executable), compiler=compiler)
    arguments = ["-m64", '-DX="a b"', "$HOME", "日本.c"]
    shown = subprocess.run([tools.compiler, *arguments], capture_output=True, check=True)
    assert shown.stdout.decode() == 'cc|-target|T|-DX="a b"|$HOME|日本.c|'
    packed = subprocess.run([tools.archiver, "rcs", "a b.a"], capture_output=True, check=True)
    assert packed.stdout == b"ar|rcs|a b.a|"
    assert subprocess.run([tools.nothing, "x"], capture_output=True, check=True).stdout == b""


def test_the_wrapper_needs_nothing_of_ours(tmp_path: Path) -> None:
    """It runs under `-I -S`: an import of vvbuild or of a package would fail there."""
    copied = tmp_path / "waf_cc.py"
    shutil.copyfile(waf_cc.__file__, copied)
    settings = {"command": [sys.executable, "cc"], "replaced": {}, "preprocessor": {}}
    copied.with_suffix(".json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-I", "-S", copied], capture_output=True, text=True, check=False
    )
    # It became `python cc`, and there is no such script.
    assert "can't open file" in done.stderr


@pytest.mark.parametrize("name", ["with space", "日本語", "quote'd"])
def test_a_path_that_waf_cannot_take_moves_the_build_elsewhere(tmp_path: Path, name: str) -> None:
    with plain_directory(tmp_path / name) as room:
        text = str(room)
        assert text.isascii()
        assert " " not in text
        assert "'" not in text
        assert not room.is_relative_to(tmp_path / name)
    assert not room.exists()


def test_a_plain_path_is_used_and_left_empty(tmp_path: Path) -> None:
    with plain_directory(tmp_path / "work") as room:
        assert room.is_relative_to(tmp_path / "work")
        (room / "file").write_text("x")
    assert list((tmp_path / "work").iterdir()) == []


def test_progress_is_read_from_wafs_counters() -> None:
    assert progress_of("[ 7/32] Compiling src/pyi_main.c") == (7, 32)
    assert progress_of("[31/32] Linking build/release/run") == (31, 32)
    assert progress_of("Checking for program 'clang'  : [1/2]") is None


def test_the_compilers_own_lines_are_the_context_of_a_failed_build(tmp_path: Path) -> None:
    lines = [
        "'configure' finished successfully (1.3s)",
        "Waf: Entering directory `/x/build/release'",
        "[ 1/33] Compiling zlib/zutil.c",
        "[ 9/33] Compiling src/bad.c",
        "../../src/bad.c:1:31: error: expected ';' after return statement",
        "    1 | int x(void) { return 1 }",
        "      |                               ^",
        "1 error generated.",
        "",
        "Waf: Leaving directory `/x/build/release'",
        "Build failed",
        " -> task in 'OBJECTS' failed with exit status 1 (run with -v to display more information)",
    ]
    assert failure_context(lines, tmp_path / "absent") == {"compiler": "\n".join(lines[4:8])}


def test_a_failed_configuration_shows_the_end_of_wafs_log(tmp_path: Path) -> None:
    log = tmp_path / "config.log"
    log.write_text(
        "\n".join(f"line {number}" for number in range(100)) + "\nerr: no libc for you\n"
    )
    context = failure_context(["Checking for program 'clang' : cc", "Could not determine"], log)
    assert context["last lines"].endswith("Could not determine")
    assert context["config.log"].endswith("err: no libc for you")
    assert "line 1\n" not in context["config.log"]
