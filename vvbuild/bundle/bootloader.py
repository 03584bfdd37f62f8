"""PyInstaller's bootloader, built from its own sources plus our C files, with zig alone.

zig brings compiler, linker, C library and Windows headers, so that nothing of the machine gets
in: neither gcc nor strip nor zlib's headers need to be there, and the same inputs give the same
bytes in any directory.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vvbuild.binary.elf import ElfFacts, is_elf, read_elf, section_digest
from vvbuild.bundle.bootloader_check import check_program
from vvbuild.bundle.bootloader_source import unpack_bootloader_source
from vvbuild.bundle.bootloader_tools import plain_directory, write_tools
from vvbuild.bundle.waf_log import failure_context, progress_of
from vvbuild.errors import BootloaderError, ExternalError
from vvbuild.model.digest import Digest
from vvbuild.model.events import Emit, Note, Progress
from vvbuild.model.size import ByteSize
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file
from vvbuild.runtime.process import run

Variant = Literal["release", "debug", "releasew", "debugw"]

# PyInstaller's names of the four programs.
_PROGRAMS: Mapping[Variant, str] = {
    "release": "run",
    "debug": "run_d",
    "releasew": "runw",
    "debugw": "runw_d",
}
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
_TIMEOUT_SECONDS = 900.0
_HINT_EXTRA = (
    "Look at {}: extra C files are compiled into the bootloader of every system, with -Wall "
    "-Werror. Guard what one of them lacks by #ifdef."
)


@dataclass(frozen=True, slots=True)
class _System:
    """How zig and waf are brought together for one operating system (see ``waf_cc``)."""

    suffix: str
    replaced: Mapping[str, str]
    cflags: str = ""


# zig sets the width of pointers by its target: it refuses -m64 for arm64, and never needs it.
# On Windows waf adds flags of GNU ld that zig's linker does not know, and defines _WIN32_WINNT,
# which zig has defined by then; -Werror would make each of them "library user32 not found".
# zig ignores -mwindows: the program would open a console. For macOS it lacks Apple's frameworks,
# which the variants without a console need.
_SYSTEMS: Mapping[str, _System] = {
    "linux": _System(suffix="", replaced={"-m64": ""}),
    "macos": _System(suffix="", replaced={"-m64": ""}),
    "windows": _System(
        suffix=".exe",
        replaced={
            "-m64": "",
            "-mwindows": "-Wl,--subsystem,windows",
            "-Wl,--enable-auto-import": "",
            "-Wl,-Bstatic": "",
            "-Wl,-Bdynamic": "",
        },
        cflags="-Wno-macro-redefined",
    ),
}


@dataclass(frozen=True, slots=True)
class BootloaderBuild:
    """A built bootloader.

    ``version`` is PyInstaller's, ``platform`` the folder in which that version of PyInstaller
    looks for it. ``elf`` and ``text`` (the digest of the machine code, by which a frozen program
    shows that it was made from this file) are known for ELF files only.
    """

    path: Path
    sha256: Digest
    size: ByteSize
    version: str
    platform: str
    machine: str
    elf: ElfFacts | None
    text: Digest | None


def build_bootloader(
    *,
    sdist: Path,
    zig: Path,
    zig_target: str,
    waf_target_arch: str | None,
    extra_sources: Sequence[Path],
    variant: Variant,
    work: Path,
    dest: Path,
    epoch: int,
    cancel: Cancel,
    emit: Emit,
    python: Path = Path(sys.executable),
    zig_cache: Path | None = None,
) -> BootloaderBuild:
    """Build one variant of the bootloader into the directory ``dest``, and check what came out.

    ``sdist`` is PyInstaller's verified source archive, ``zig`` the program, ``zig_target`` its
    name of the target with the glibc to build against (``x86_64-linux-gnu.2.17``). waf gets
    ``waf_target_arch`` (``64bit-arm``) where it cannot see the target by itself. ``epoch``
    (seconds) is the time stamp of a Windows program. ``zig_cache`` keeps zig's C library between
    builds; it does not change the result.

    Raises :class:`BootloaderError` with the compiler's words, or :class:`HostileArchiveError`
    for an archive that must not be unpacked.
    """
    system, machine = _system_of(zig_target)
    with plain_directory(work) as room:
        version = unpack_bootloader_source(sdist, room / "source", cancel)
        sources = room / "source" / "bootloader"
        _add_sources(extra_sources, sources / "src")
        tools = write_tools(
            room / "tools", python=python, zig=zig, target=zig_target, replaced=system.replaced
        )
        environment = {
            "CC": str(tools.compiler),
            "AR": str(tools.nothing),  # waf insists on one and calls it never
            "STRIP": str(tools.nothing),  # the linker strips (-s), so that no strip is needed
            "CFLAGS": system.cflags,
            "LINKFLAGS": "-s",
            "PYI_STATIC_ZLIB": "1",
            "SOURCE_DATE_EPOCH": str(epoch),
            "ZIG_GLOBAL_CACHE_DIR": str(zig_cache or room / "zig-global"),
            "ZIG_LOCAL_CACHE_DIR": str(room / "zig-local"),
        }
        emit(Note(f"Building the bootloader of PyInstaller {version} for {zig_target}.", "debug"))
        try:
            _run_waf(python, sources, variant, waf_target_arch, environment, cancel, emit)
        except BootloaderError as error:
            blamed = [path.name for path in extra_sources if path.name in str(error.context)]
            error.hint = _HINT_EXTRA.format(", ".join(blamed)) if blamed else None
            raise
        name = _PROGRAMS[variant] + system.suffix
        built = sources / "build" / variant / name
        # The copy that waf installs is empty now and then before 6.14 (strip runs beside the
        # copying); it only tells the name of PyInstaller's folder.
        platform = _installed_platform(room / "source" / "PyInstaller" / "bootloader", name)
        check_program(built, machine=machine, windowed=variant.endswith("w"))
        return _delivered(built, dest, version=version, platform=platform, machine=machine)


def _system_of(zig_target: str) -> tuple[_System, str]:
    """What is to be done for a target of zig, and our name of its machine."""
    machine, system, *_ = [*zig_target.split("-"), ""]
    row = _SYSTEMS.get(system.partition(".")[0])
    if row is None or machine not in _MACHINES:
        raise BootloaderError(
            f"No way is known to build a bootloader for {zig_target}.",
            context={"systems": ", ".join(_SYSTEMS), "machines": ", ".join(_MACHINES)},
        )
    return row, _MACHINES[machine]


def _add_sources(extra: Sequence[Path], folder: Path) -> None:
    """Put our C files beside upstream's, where the wscript compiles every ``*.c``."""
    taken = {path.name.lower(): "PyInstaller has a file of that name" for path in folder.iterdir()}
    for source in extra:
        problem = taken.get(source.name.lower())
        if source.suffix != ".c":
            problem = "only .c files are compiled"
        if problem is not None:
            raise BootloaderError(
                f"{source.name} cannot be added to the bootloader: {problem}.",
                context={"path": source},
                hint="Rename it; a prefix of your own (vvbuild_…) keeps clear of upstream's names.",
            )
        shutil.copyfile(source, folder / source.name)
        taken[source.name.lower()] = "two extra files have that name"


def _run_waf(
    python: Path,
    sources: Path,
    variant: Variant,
    target_arch: str | None,
    environment: Mapping[str, str],
    cancel: Cancel,
    emit: Emit,
) -> None:
    command: list[str | Path] = [python, "-s", "waf", "distclean", "configure"]
    command += [f"build_{variant}", f"install_{variant}", "--clang", "-j1"]
    command += [f"--target-arch={target_arch}"] if target_arch else []
    lines: list[str] = []

    def on_line(line: str) -> None:
        lines.append(line)
        if (counted := progress_of(line)) is not None:
            emit(Progress("bootloader", *counted, unit="files"))

    try:
        run(
            command,
            cancel=cancel,
            cwd=sources,
            environment=environment,
            timeout=_TIMEOUT_SECONDS,
            on_line=on_line,
            error=BootloaderError,
        )
    except ExternalError as error:
        context = failure_context(lines, sources / "build" / "config.log")
        raise BootloaderError(
            "The bootloader could not be compiled.",
            context={"how": error.message} | context,
        ) from error


def _installed_platform(folder: Path, name: str) -> str:
    found = sorted(path.parent.name for path in folder.glob(f"*/{name}"))
    if len(found) != 1:
        raise BootloaderError(
            "waf says that it built a bootloader, and installed none.",
            context={"program": name, "found in": ", ".join(found) or "no folder"},
        )
    return found[0]


def _delivered(
    built: Path, dest: Path, *, version: str, platform: str, machine: str
) -> BootloaderBuild:
    dest.mkdir(parents=True, exist_ok=True)
    dest.chmod(0o755)
    path = dest / built.name
    shutil.copyfile(built, path)
    path.chmod(0o755)
    elf = read_elf(path) if is_elf(path) else None
    return BootloaderBuild(
        path=path,
        sha256=hash_file(path),
        size=ByteSize(path.stat().st_size),
        version=version,
        platform=platform,
        machine=machine,
        elf=elf,
        text=section_digest(path, ".text") if elf is not None else None,
    )
