"""``bootloader build``: from a version of PyInstaller to programs in a directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vvbuild.bootloader.build import Variant
from vvbuild.bootloader.compilers import Compiler, machine_compiler
from vvbuild.bootloader.step import (
    BootloaderFacts,
    BootloaderWanted,
    PinnedCompiler,
    add_bootloader,
    bootloader_facts,
)
from vvbuild.errors import MissingError, OutputNotOursError, UsageError
from vvbuild.fetch.session import Session
from vvbuild.fetch.store import Store, copy_file
from vvbuild.manifest.bootloader import find_sdist
from vvbuild.manifest.release import LoadedRelease
from vvbuild.manifest.targets import find_target, host_platform
from vvbuild.manifest.tools import find_tool
from vvbuild.model.events import Emit
from vvbuild.model.target import Platform
from vvbuild.pipeline.artifacts import add_fetch, add_tool
from vvbuild.pipeline.runner import Runner, StepResult
from vvbuild.pipeline.step import Made, PlanBuilder
from vvbuild.runtime.cancel import Cancel

# By whether there is a console, and whether the program tells what it does.
_VARIANTS: dict[tuple[str, bool], tuple[Variant, ...]] = {
    ("console", False): ("release",),
    ("console", True): ("debug",),
    ("windowed", False): ("releasew",),
    ("windowed", True): ("debugw",),
    ("all", False): ("release", "releasew"),
    ("all", True): ("release", "debug", "releasew", "debugw"),
}


@dataclass(frozen=True, slots=True)
class BootloaderOptions:
    """What the user chose. ``cc`` is ``zig``, or a compiler of this machine by name or path."""

    release: LoadedRelease
    target: str
    pyinstaller: str | None = None
    variant: str = "console"
    debug: bool = False
    cc: str = "zig"
    offline: bool = False


@dataclass(frozen=True, slots=True)
class BootloaderResult:
    """What was built and where it lies."""

    where: Platform
    facts: BootloaderFacts
    paths: tuple[Path, ...]
    steps: tuple[StepResult, ...]


def make_bootloader(
    options: BootloaderOptions, out: Path, *, store: Store, emit: Emit, cancel: Cancel
) -> BootloaderResult:
    """Build a bootloader and copy its programs to ``out``; what was built before is not again.

    With the release's own PyInstaller and its compiler, these are the bytes that ``bundle``
    freezes with. Raises typed errors.
    """
    target = find_target(options.target)
    variants = _variants(options, target.platform)
    row = options.release.row
    version = options.pyinstaller or row.components["pyinstaller"].version
    sdist = find_sdist(version)
    if out.exists() and not out.is_dir():
        raise OutputNotOursError(f"{out} is a file.", hint="Name a directory with --out.")
    store.prepare()
    builder = PlanBuilder()
    with Session(offline=options.offline, cancel=cancel) as session:
        compiler = _compiler(options, target.platform, builder, session, cancel)
        fetched = add_fetch(builder, sdist, session)
        wanted = BootloaderWanted(
            version, target.platform, variants, options.release.epoch, compiler
        )
        name = add_bootloader(builder, wanted, fetched)
        result = Runner(store, emit=emit, cancel=cancel).run(builder.plan(name))
    made = result.made[name]
    facts = bootloader_facts(made.facts)
    return BootloaderResult(
        target.platform, facts, tuple(_put(made, facts, store, out)), result.steps
    )


def _variants(options: BootloaderOptions, where: Platform) -> tuple[Variant, ...]:
    variants = _VARIANTS.get((options.variant, options.debug))
    if variants is None:
        raise UsageError(
            f"There is no variant {options.variant!r}.",
            hint="--variant takes console, windowed or all.",
        )
    if where.os == "linux":
        # Nothing opens a console there, and PyInstaller has no such programs.
        variants = tuple(each for each in variants if not each.endswith("w"))
        if not variants:
            raise UsageError(f"A windowed bootloader is for Windows and macOS, not for {where}.")
    if where.os == "macos" and options.cc == "zig" and any(each.endswith("w") for each in variants):
        raise MissingError(
            "A windowed bootloader for macOS needs Apple's frameworks, which zig lacks.",
            hint="Run it on macOS with --cc clang.",
        )
    return variants


def _compiler(
    options: BootloaderOptions,
    where: Platform,
    builder: PlanBuilder,
    session: Session,
    cancel: Cancel,
) -> PinnedCompiler | Compiler:
    if options.cc != "zig":
        return machine_compiler(options.cc, where, cancel)
    version = options.release.row.tools.get("zig")
    if version is None:
        raise UsageError(
            f"The release {options.release.name!r} pins no zig.",
            hint="Name another release, or a compiler of this machine with --cc.",
        )
    tool = find_tool("zig", version, host_platform())
    return PinnedCompiler(tool, add_tool(builder, tool, session))


def _put(made: Made, facts: BootloaderFacts, store: Store, out: Path) -> list[Path]:
    """Copy the programs: nobody's later edit reaches back into the store."""
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    entries = {entry.path: entry for entry in made.tree.entries}
    for file in facts.files:
        entry = entries[file.file]
        assert entry.digest is not None
        path, fresh = out / file.file, out / f".{file.file}.part"
        try:
            copy_file(store.verified_file(entry.digest, entry.kind), fresh)
            fresh.chmod(0o755)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
        paths.append(path)
    return paths
