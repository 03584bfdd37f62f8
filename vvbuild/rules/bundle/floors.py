"""Rules over a bundle: the oldest system that it runs on, against the one that it promises."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from vvbuild.model.release import FloorKind
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_FAMILIES: dict[FloorKind, str] = {"glibc": "GLIBC", "glibcxx": "GLIBCXX"}
_CALLED: dict[FloorKind, str] = {"glibc": "glibc", "glibcxx": "libstdc++'s GLIBCXX"}
_SHOWN = 8


@rule(
    "glibc-floor",
    "error",
    why="A library that asks for a newer glibc or libstdc++ than a system has is refused by its "
    "loader: a bundle from a newer build machine starts on no older one.",
    source="VOICEVOX/voicevox_engine#510",
    fix="Build on the oldest system that is promised, or promise less (`[floors]`).",
)
def glibc_floor(evidence: BundleEvidence) -> Iterator[Found]:
    """No library asks for a newer glibc or libstdc++ than the target promises."""
    if evidence.os != "linux":
        return
    for kind, family in _FAMILIES.items():
        promised = _promised(evidence, kind)
        if promised is None:
            continue
        needs: dict[str, list[str]] = {}
        for file in evidence.binaries():
            need = file.elf.floors.get(family) if file.elf is not None else None
            if need is not None and _newer(need, promised):
                needs.setdefault(need, []).append(file.path)
        if needs:
            yield _found(_CALLED[kind], needs, promised)


@rule(
    "macos-floor",
    "error",
    why="macOS refuses a library that was built for a newer one, and the engine with it.",
    source="VOICEVOX/onnxruntime-builder#120",
    fix="Take a build with an older MACOSX_DEPLOYMENT_TARGET, or promise less (`[floors]`).",
)
def macos_floor(evidence: BundleEvidence) -> Iterator[Found]:
    """No library needs a newer macOS than the target promises."""
    promised = _promised(evidence, "macos") if evidence.os == "macos" else None
    if promised is None:
        return
    needs: dict[str, list[str]] = {}
    for file in evidence.binaries():
        part = file.macho.slice_for(evidence.arch or "") if file.macho is not None else None
        need = part.minimum_macos if part is not None else None
        if need is not None and _newer(need, promised):
            needs.setdefault(need, []).append(file.path)
    if needs:
        yield _found("macOS", needs, promised)


@rule(
    "driver-too-new-needed",
    "error",
    why="Each major of CUDA needs a driver of its time: users with an older one fall back to the "
    "processor, or get an error that names a driver's version and nothing else.",
    source="https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
    fix="Ship an older major of CUDA, or promise the newer driver (`driver` in `[floors]`).",
)
def driver_too_new_needed(evidence: BundleEvidence) -> Iterator[Found]:
    """The CUDA in the bundle runs on the driver that the release promises, if it promises one."""
    promised = _promised(evidence, "driver")
    if promised is None:
        return
    nvidia = evidence.tables.bytes.nvidia
    for file in evidence.binaries():
        known = nvidia.identify(file.name)
        # One of several names tells the major, and is enough.
        if known is None or known.library != "cublas" or known.major is None:
            continue
        least = nvidia.driver_for(known.major)
        if least is not None and _newer(str(least), promised):
            yield Found(
                f"CUDA {known.major} needs a driver of {least} or newer, and {promised} is "
                "promised",
                file.path,
            )


def _promised(evidence: BundleEvidence, kind: FloorKind) -> str | None:
    """What the release says in ``vvbuild.json``, else what its target says.

    A release may promise nothing but the machine that it was built on: ``host``.
    """
    told = evidence.section("floors").get(kind)
    if isinstance(told, str):
        return None if told == "host" else told
    row = evidence.tables.bytes.floors.of(evidence.target, kind) if evidence.target else None
    return row.version if row is not None else None


def _found(called: str, needs: dict[str, list[str]], promised: str) -> Found:
    newest = max(needs, key=Version)
    number = sum(map(len, needs.values()))
    first = min(path for paths in needs.values() for path in paths)
    return Found(
        f"{number} {'library needs' if number == 1 else 'libraries need'} {called} {newest}, "
        f"and {promised} is promised",
        first,
        {
            version: ", ".join(sorted(paths)[:_SHOWN])
            + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")
            for version, paths in sorted(needs.items(), key=lambda each: Version(each[0]))
        },
    )


def _newer(version: str, other: str) -> bool:
    try:
        return Version(version) > Version(other)
    except InvalidVersion:
        return False
