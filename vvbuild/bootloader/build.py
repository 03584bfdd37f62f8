"""PyInstaller's bootloader, built from its own sources plus our C files.

With the pinned zig, which brings compiler, linker, C library and Windows headers, nothing of the
machine gets in: neither gcc nor strip nor zlib's headers need to be there, and the same inputs
give the same bytes in any directory. Other compilers are taken by name (``compilers.py``).
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vvbuild.binary.elf import ElfFacts, is_elf, read_elf, section_digest
from vvbuild.binary.program import Program
from vvbuild.bootloader.compilers import Compiler
from vvbuild.bootloader.mark import FILE as MARK_FILE
from vvbuild.bootloader.mark import mark_source
from vvbuild.bootloader.patches import apply_patches
from vvbuild.bootloader.proof import require_bootloader
from vvbuild.bootloader.room import plain_directory, write_tools
from vvbuild.bootloader.source import unpack_bootloader_source
from vvbuild.bootloader.waf_log import failure_context, progress_of
from vvbuild.errors import BootloaderError, ExternalError
from vvbuild.manifest.bootloader import Patch
from vvbuild.manifest.targets import platform_row, program_name
from vvbuild.model.digest import Digest
from vvbuild.model.events import Emit, Note, Progress
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Platform
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.process import run

Variant = Literal["release", "debug", "releasew", "debugw"]

# PyInstaller's names of the four programs.
PROGRAMS: Mapping[Variant, str] = {
    "release": "run",
    "debug": "run_d",
    "releasew": "runw",
    "debugw": "runw_d",
}
_TIMEOUT_SECONDS = 900.0
_HINT_EXTRA = (
    "Look at {}: extra C files are compiled into the bootloader of every system, with -Wall "
    "-Werror. Guard what one of them lacks by #ifdef."
)


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """One variant of a built bootloader.

    ``exports`` are a Windows program's, with their values. ``elf`` and ``text`` (the digest of
    the machine code, by which a frozen program shows that it was made from this file) are known
    for ELF files only.
    """

    path: Path
    variant: Variant
    sha256: Digest
    size: ByteSize
    machine: str
    exports: Mapping[str, int]
    elf: ElfFacts | None
    text: Digest | None


@dataclass(frozen=True, slots=True)
class BootloaderBuild:
    """A built bootloader.

    ``version`` is PyInstaller's, ``platform`` the folder in which that version of PyInstaller
    looks for it.
    """

    version: str
    platform: str
    files: tuple[BuiltFile, ...]


def build_bootloader(
    *,
    sdist: Path,
    version: str,
    where: Platform,
    compiler: Compiler,
    extra_sources: Sequence[Path],
    hints: Mapping[str, int],
    variants: Sequence[Variant],
    work: Path,
    dest: Path,
    epoch: int,
    cancel: Cancel,
    emit: Emit,
    patches: Sequence[Patch] = (),
    python: Path = Path(sys.executable),
    zig_cache: Path | None = None,
) -> BootloaderBuild:
    """Build variants of the bootloader into the directory ``dest``, and check what came out.

    ``sdist`` is PyInstaller's verified source archive, of ``version``. ``hints`` are the
    variables that a Windows program must export with their values. ``epoch`` (seconds) is the
    time stamp of a Windows program. ``zig_cache`` keeps zig's C library between builds; it does
    not change the result.

    Raises :class:`BootloaderError` with the compiler's words, or :class:`HostileArchiveError`
    for an archive that must not be unpacked.
    """
    with plain_directory(work) as room:
        found = unpack_bootloader_source(sdist, room / "source", cancel)
        if found != version:
            raise BootloaderError(
                f"{sdist.name} holds PyInstaller {found}, not {version}.",
                hint="A bootloader serves only the PyInstaller of its own version.",
            )
        apply_patches(patches, room / "source")
        sources = room / "source" / "bootloader"
        _add_sources(extra_sources, sources / "src")
        (sources / "src" / MARK_FILE).write_text(mark_source(version), "utf-8")
        tools = write_tools(room / "tools", python=python, compiler=compiler)
        environment = {
            "STRIP": str(tools.nothing),
            "PYI_STATIC_ZLIB": "1",
            "SOURCE_DATE_EPOCH": str(epoch),
            "ZIG_GLOBAL_CACHE_DIR": str(zig_cache or room / "zig-global"),
            "ZIG_LOCAL_CACHE_DIR": str(room / "zig-local"),
            # So that ccache knows a file again that lies in another directory each time.
            "CCACHE_BASEDIR": str(room),
            "CCACHE_NOHASHDIR": "1",
            **compiler.environment,
        }
        if compiler.command:
            environment |= {"CC": str(tools.compiler), "AR": str(tools.archiver)}
        emit(Note(f"Building the bootloader of PyInstaller {version} for {where}.", "debug"))
        words = _waf_words(variants, compiler, where)
        try:
            _run_waf([python, "-s", "waf", *words], sources, environment, cancel, emit)
        except BootloaderError as error:
            blamed = [path.name for path in extra_sources if path.name in str(error.context)]
            error.hint = _HINT_EXTRA.format(", ".join(blamed)) if blamed else None
            raise
        installed = room / "source" / "PyInstaller" / "bootloader"
        # The copies that waf installs are empty now and then before 6.14 (strip runs beside the
        # copying); they only tell the name of PyInstaller's folder.
        platform = _installed_platform(installed, program_name(PROGRAMS[variants[0]], where))
        built = [
            require_bootloader(
                sources / "build" / variant / program_name(PROGRAMS[variant], where),
                where=where,
                windowed=variant.endswith("w"),
                version=version,
                hints=hints,
            )
            for variant in variants
        ]
        files = tuple(
            _delivered(variant, seen, dest) for variant, seen in zip(variants, built, strict=True)
        )
        return BootloaderBuild(version, platform, files)


def _waf_words(variants: Sequence[Variant], compiler: Compiler, where: Platform) -> list[str]:
    words = ["distclean", "configure"]
    words += [f"build_{variant}" for variant in variants]
    words += [f"install_{variant}" for variant in variants]
    words += [*compiler.options, "-j1"]
    arch = platform_row(where).waf_arch
    return [*words, f"--target-arch={arch}"] if arch else words


def _add_sources(extra: Sequence[Path], folder: Path) -> None:
    """Put our C files beside upstream's, where the wscript compiles every ``*.c``."""
    taken = {path.name.lower(): "PyInstaller has a file of that name" for path in folder.iterdir()}
    taken[MARK_FILE] = "vvbuild writes a file of that name itself"
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
    command: Sequence[str | Path],
    sources: Path,
    environment: Mapping[str, str],
    cancel: Cancel,
    emit: Emit,
) -> None:
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


def _delivered(variant: Variant, seen: Program, dest: Path) -> BuiltFile:
    dest.mkdir(parents=True, exist_ok=True)
    dest.chmod(0o755)
    path = dest / seen.path.name
    shutil.copyfile(seen.path, path)
    path.chmod(0o755)
    elf = read_elf(path) if is_elf(path) else None
    exports = {name: value for name, value in (seen.exports or {}).items() if value is not None}
    return BuiltFile(
        path=path,
        variant=variant,
        sha256=seen.sha256,
        size=seen.size,
        machine=seen.machine or "",
        exports=exports,
        elf=elf,
        text=section_digest(path, ".text") if elf is not None else None,
    )
