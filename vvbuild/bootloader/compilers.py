"""The C compilers that a bootloader can be built with, and how waf is told of each.

zig is the default: pinned like an artifact, it gives the same bytes on every machine. A compiler
of the machine is taken by name or path; its version and the digest of its program stand for it in
keys and in what is recorded.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vvbuild.errors import BootloaderError, HostToolMissingError, UsageError
from vvbuild.manifest.targets import platform_row
from vvbuild.model.target import Platform
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file
from vvbuild.runtime.process import clean_environment, run

# On Windows waf adds flags of GNU ld that zig's linker does not know, and defines _WIN32_WINNT,
# which zig has defined by then; -Werror would make each of them "library user32 not found".
# zig sets the width of pointers by its target: it refuses -m64 for arm64, and never needs it. It
# ignores -mwindows: the program would open a console.
_ZIG_REPLACED: Mapping[str, Mapping[str, str]] = {
    "linux": {"-m64": ""},
    "macos": {"-m64": ""},
    "win": {
        "-m64": "",
        "-mwindows": "-Wl,--subsystem,windows",
        "-Wl,--enable-auto-import": "",
        "-Wl,-Bstatic": "",
        "-Wl,-Bdynamic": "",
    },
}
# `mingw` is GCC's cross compiler for Windows, as Debian calls it.
_NAMES: Mapping[str, Mapping[str, str]] = {
    "gcc": {"x64": "gcc", "arm64": "gcc"},
    "clang": {"x64": "clang", "arm64": "clang"},
    "mingw": {"x64": "x86_64-w64-mingw32-gcc", "arm64": "aarch64-w64-mingw32-gcc"},
}
_PROBE_SECONDS = 60.0
_PACKAGES = {
    "gcc": "Debian: `apt install gcc`.",
    "clang": "Debian: `apt install clang`; macOS: `xcode-select --install`.",
    "mingw": "Debian: `apt install gcc-mingw-w64-x86-64`.",
}
_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler for one platform.

    ``command`` is the program with the words before all others; for each argument of waf that it
    would refuse or ignore, ``replaced`` has what it gets instead (nothing, if empty).
    ``archiver`` makes static libraries, which PyInstaller before 6.0 does of zlib.
    ``preprocessor`` replaces words of ``command`` when it only preprocesses. ``identity`` says
    which compiler it is: by that, builds are the same or not. ``environment`` and ``options``
    are what waf gets for it.
    """

    name: str
    command: tuple[str, ...]
    archiver: tuple[str, ...]
    identity: Mapping[str, str]
    replaced: Mapping[str, str] = field(default_factory=dict)
    preprocessor: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()


def zig_compiler(zig: Path, where: Platform, identity: Mapping[str, str]) -> Compiler:
    """The pinned zig for a platform; ``identity`` is its name and version.

    Raises :class:`BootloaderError` where the program cannot be started: waf would hide that.
    """
    if not os.access(zig, os.X_OK) or zig.is_dir():
        raise BootloaderError("zig cannot be started.", context={"zig": zig})
    target = platform_row(where).zig
    return Compiler(
        "zig",
        (str(zig.resolve()), "cc", "-target", target),
        (str(zig.resolve()), "ar"),
        {**identity, "target": target},
        _ZIG_REPLACED[where.os],
        # zig hands a run of the preprocessor to clang as it is, and clang knows no glibc version
        # in a target ("version '.2.17' in target triple … is invalid").
        {target: re.sub(r"\.[0-9.]+", "", target)},
        {"CFLAGS": "-Wno-macro-redefined" if where.os == "win" else "", **_STRIPPED_BY_LINKER},
        ("--clang",),
    )


# The linker strips (-s), so that no strip is needed: before PyInstaller 6.14 waf runs it beside
# the copying, and a zero-byte file may be what is installed.
_STRIPPED_BY_LINKER = {"LINKFLAGS": "-s"}


def machine_compiler(
    name: str, where: Platform, cancel: Cancel, *, search: str | None = None
) -> Compiler:
    """A compiler of this machine: ``gcc``, ``clang``, ``mingw``, ``msvc``, or the path of one.

    ``search`` stands for ``PATH``. Raises :class:`HostToolMissingError` where there is none and
    :class:`BootloaderError` for one that makes programs of another kind.
    """
    if name == "msvc":
        return _msvc(where)
    program = _find(name, where, search)
    made_for = _ask(program, "-dumpmachine", cancel).strip()
    version = _ask(program, "--version", cancel).partition("\n")[0].strip()
    _require_target(program, made_for, where)
    family = "clang" if "clang" in version.lower() else "gcc"
    identity = {
        "name": program.name,
        "version": version,
        "target": made_for,
        "sha256": hash_file(program.resolve()).hex,
    }
    # With ccache, which gives the very bytes that the compiler gave.
    ccache = shutil.which("ccache", path=search)
    command = (str(program),) if ccache is None else (ccache, str(program))
    # Apple's linker warns of -s, and waf's strip is run alone where there is one job.
    environment = {} if where.os == "macos" else _STRIPPED_BY_LINKER
    archiver = (str(_archiver(program, search)),)
    return Compiler(
        name, command, archiver, identity, environment=environment, options=(f"--{family}",)
    )


def _msvc(where: Platform) -> Compiler:
    if sys.platform != "win32":
        raise HostToolMissingError(
            "MSVC runs on Windows only.", hint="Leave out --cc: zig builds for Windows everywhere."
        )
    machine = {"x64": "x64", "arm64": "arm64"}[where.arch]
    return Compiler(
        "msvc",
        (),
        (),
        {"name": "msvc", "target": machine},
        # /Brepro: no time in the program (untried).
        environment={"LINKFLAGS": "/Brepro"},
        options=(f"--msvc_targets={machine}",),
    )


def _find(name: str, where: Platform, search: str | None) -> Path:
    known = _NAMES.get(name)
    if known is None:
        path = shutil.which(name, path=search)
        if path is None:
            raise HostToolMissingError(
                f"There is no compiler {name}.",
                hint="--cc takes zig, gcc, clang, mingw, msvc, or the path of a compiler.",
            )
        return Path(path)
    if name == "mingw" and where.os != "win":
        raise UsageError(f"mingw makes programs for Windows, not for {where}.")
    wanted = known[where.arch]
    path = shutil.which(wanted, path=search)
    if path is None:
        raise HostToolMissingError(
            f"There is no {wanted} on this machine.",
            hint=f"{_PACKAGES[name]} Without --cc the pinned zig is used, which needs nothing.",
        )
    return Path(path)


def _archiver(compiler: Path, search: str | None) -> Path:
    """The ``ar`` that belongs to a compiler: of a cross compiler it has its prefix."""
    prefix = re.sub(r"(gcc|clang|cc)(-[0-9.]+)?(\.exe)?$", "", compiler.name)
    for name in dict.fromkeys((f"{prefix}ar", "ar", "llvm-ar")):
        if (found := shutil.which(name, path=search)) is not None:
            return Path(found)
    raise HostToolMissingError(
        f"There is no ar beside {compiler.name}.", hint="Debian: `apt install binutils`."
    )


def _ask(program: Path, option: str, cancel: Cancel) -> str:
    result = run(
        [program, option],
        cancel=cancel,
        environment=clean_environment(),
        timeout=_PROBE_SECONDS,
        error=BootloaderError,
    )
    return result.output


def _require_target(program: Path, made_for: str, where: Platform) -> None:
    """Compare a GNU triple with what is to be built: waf would go on until nothing links."""
    machine = _MACHINES.get(made_for.partition("-")[0].lower(), made_for.partition("-")[0])
    system = (
        "win"
        if "mingw" in made_for or "windows" in made_for
        else "macos"
        if "apple" in made_for or "darwin" in made_for
        else "linux"
    )
    if (system, machine) != (where.os, where.arch):
        raise BootloaderError(
            f"{program.name} makes programs for {made_for}, not for {where}.",
            context={"compiler": program},
            hint="Leave out --cc: the pinned zig builds for every platform.",
        )
