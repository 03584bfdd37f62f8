"""``bootloader probe``: the order of a PC's GPUs, as programs with and without the hints see it.

Two small programs for Windows, built of one C file by the pinned zig, the second together with
the files of ``bootloader_extra``. On Windows they are run; elsewhere they are for a PC with
two GPUs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vvbuild.binary.program import look_at
from vvbuild.errors import BootloaderError, MissingError, UsageError
from vvbuild.fetch.session import Session
from vvbuild.fetch.store import Store, copy_file
from vvbuild.manifest.bootloader import extra_directory, extra_sources, hint_values
from vvbuild.manifest.release import LoadedRelease
from vvbuild.manifest.targets import find_target, host_platform, platform_row
from vvbuild.manifest.tools import find_tool
from vvbuild.model.events import Emit
from vvbuild.pipeline.artifacts import add_tool, tool_path
from vvbuild.pipeline.runner import Runner
from vvbuild.pipeline.step import Facts, PlanBuilder, StepContext
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file
from vvbuild.runtime.process import clean_environment, run

NAMES = ("probe-plain.exe", "probe-hinted.exe")
_LINE = re.compile(r"adapter (\d+) (\d+) ([0-9a-f]{4}) (.*)")
_VENDORS = {
    "10de": "NVIDIA",
    "1002": "AMD",
    "8086": "Intel",
    "1414": "Microsoft",
    "5143": "Qualcomm",
}
_BUILD_SECONDS, _RUN_SECONDS = 600.0, 60.0


@dataclass(frozen=True, slots=True)
class Adapter:
    """A GPU as DXGI names it; ``memory`` is its own, in MiB."""

    index: int
    memory: int
    vendor: str
    name: str


@dataclass(frozen=True, slots=True)
class Probe:
    """One of the two programs; ``adapters`` is ``None`` where it was not run."""

    path: Path
    hinted: bool
    adapters: tuple[Adapter, ...] | None


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Both programs, the plain one first."""

    probes: tuple[Probe, Probe]

    @property
    def changed(self) -> bool | None:
        """Whether the hints put another GPU first; ``None`` where nothing was run."""
        plain, hinted = (probe.adapters for probe in self.probes)
        if plain is None or hinted is None:
            return None
        return plain[:1] != hinted[:1]


def probe_adapters(
    release: LoadedRelease,
    target: str,
    out: Path,
    *,
    store: Store,
    offline: bool,
    emit: Emit,
    cancel: Cancel,
) -> ProbeResult:
    """Build both programs into ``out``, and on Windows run them.

    Raises typed errors; :class:`MissingError` where Windows has no DXGI.
    """
    where = find_target(target).platform
    if where.os != "win":
        raise UsageError(f"The order of GPUs is asked for on Windows, not on {where}.")
    version = release.row.tools.get("zig")
    if version is None:
        raise UsageError(f"The release {release.name!r} pins no zig.")
    tool = find_tool("zig", version, host_platform())
    probe, extra = extra_directory() / "probe" / "vvbuild_probe.c", extra_sources()
    triple = platform_row(where).zig
    store.prepare()
    builder = PlanBuilder()

    def build(context: StepContext) -> Facts:
        zig = tool_path(context, brought, tool)
        for name, sources in zip(NAMES, ([probe], [probe, *extra]), strict=True):
            _compile(zig, triple, sources, context, context.out / name, release.epoch)
            seen = look_at(context.out / name, frozenset(hint_values())).exports or {}
            if seen != (hint_values() if len(sources) > 1 else {}):
                raise BootloaderError(f"{name} does not export what it should.")
        return {}

    with Session(offline=offline, cancel=cancel) as session:
        brought = add_tool(builder, tool, session)
        step = builder.add(
            "probe",
            build,
            inputs=(brought,),
            parameters={
                "sources": {path.name: hash_file(path).hex for path in (probe, *extra)},
                "target": triple,
                "epoch": release.epoch,
            },
            code=("vvbuild.bootloader.probe",),
            why=f"lists the GPUs of a PC ({where})",
        )
        made = Runner(store, emit=emit, cancel=cancel).run(builder.plan(step)).made[step]
    out.mkdir(parents=True, exist_ok=True)
    for entry in made.tree.entries:
        assert entry.digest is not None
        fresh = out / f".{entry.path}.part"
        try:
            copy_file(store.verified_file(entry.digest, entry.kind), fresh)
            fresh.replace(out / entry.path)
        finally:
            fresh.unlink(missing_ok=True)
    plain, hinted = (
        Probe(out / name, name == NAMES[1], _run(out / name, cancel)) for name in NAMES
    )
    return ProbeResult((plain, hinted))


def read_adapters(output: str) -> tuple[Adapter, ...]:
    """What the program printed.

    Raises :class:`MissingError` where it could not ask.
    """
    for line in output.splitlines():
        if line.startswith("error "):
            raise MissingError(
                f"This Windows does not tell its GPUs: {line.removeprefix('error ')}.",
                hint="Update Windows and the GPU's driver.",
            )
    found = (match for line in output.splitlines() if (match := _LINE.fullmatch(line.rstrip())))
    return tuple(
        Adapter(int(index), int(memory), _VENDORS.get(vendor, vendor), name)
        for index, memory, vendor, name in (match.groups() for match in found)
    )


def _compile(
    zig: Path, target: str, sources: Sequence[Path], context: StepContext, dest: Path, epoch: int
) -> None:
    context.work.mkdir(parents=True, exist_ok=True)
    run(
        [zig, "cc", "-target", target, "-O2", "-s", "-Wall", "-Werror", *sources, "-o", dest],
        cancel=context.cancel,
        cwd=context.work,
        environment=clean_environment(
            {
                "SOURCE_DATE_EPOCH": str(epoch),
                "ZIG_GLOBAL_CACHE_DIR": str(context.work / "zig-global"),
                "ZIG_LOCAL_CACHE_DIR": str(context.work / "zig-local"),
            }
        ),
        timeout=_BUILD_SECONDS,
        error=BootloaderError,
    )
    for left in dest.parent.glob("*.pdb"):
        left.unlink()
    for left in dest.parent.glob("*.lib"):
        left.unlink()


def _run(program: Path, cancel: Cancel) -> tuple[Adapter, ...] | None:
    if sys.platform != "win32":
        return None
    result = run(
        [program],
        cancel=cancel,
        environment=clean_environment(),
        timeout=_RUN_SECONDS,
        error=MissingError,
    )
    return read_adapters(result.output)
