"""Rules over a bundle with several cores: what one set of libraries must serve.

The newest core is the one that the engine takes by default, so it decides; the older ones must get
by with what it wants. Each core alone is judged in ``pins.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vvbuild.model.compat import CoreRow
from vvbuild.model.version import numbers, older
from vvbuild.rules.pin_evidence import PinEvidence, PinnedCore
from vvbuild.rules.registry import Family, Found

rule = Family(PinEvidence)

_LOADER = "VOICEVOX/voicevox_engine, voicevox_engine/core/core_initializer.py"
_RUNTIMES = "VOICEVOX/voicevox_core, crates/voicevox_core/src/core/infer/runtimes/onnxruntime.rs"


def _serves(row: CoreRow, library: str, version: str, os: str) -> bool:
    """Whether a core finds that ONNX Runtime on that system, and takes its API."""
    if library != row.library:
        return False
    if row.file_name == "versioned" and os != "win":
        return numbers(version) == numbers(row.onnxruntime)
    return row.onnxruntime_least is None or not older(version, row.onnxruntime_least)


def _known(evidence: PinEvidence) -> list[tuple[PinnedCore, CoreRow]]:
    """The cores of a bundle with several, with their rows; one alone is nothing to compare."""
    known = [(core, core.row) for core in evidence.cores if core.row is not None]
    return known if len(evidence.cores) > 1 else []


def _wishes(known: Sequence[tuple[PinnedCore, CoreRow]], words: Sequence[str]) -> str:
    return ", ".join(
        f"core {core.version} {word}" for (core, _), word in zip(known, words, strict=True)
    )


@rule(
    "cores-onnxruntime",
    "error",
    why="All cores of a bundle share one ONNX Runtime, which the newest decides; an older core "
    "that opens another file name, or another build, cannot be started.",
    source=_RUNTIMES,
    fix="Pin the ONNX Runtime that serves all, or leave out the cores that it does not serve.",
)
def cores_onnxruntime(evidence: PinEvidence) -> Iterator[Found]:
    """One ONNX Runtime serves every core of the bundle."""
    pin, known, os = evidence.pins.get("onnxruntime"), _known(evidence), evidence.target.os
    if pin is None or not known or numbers(pin.version) is None:
        return
    left_out = [core for core, row in known if not _serves(row, pin.library, pin.version, os)]
    if not left_out:
        return
    choices = dict.fromkeys((row.library, row.onnxruntime) for _, row in known)
    common = [
        f"{name} {version}"
        for name, version in choices
        if all(_serves(row, name, version, os) for _, row in known)
    ]
    verdict = f"{' or '.join(common)} serves all" if common else "no ONNX Runtime serves all"
    wishes = _wishes(known, [f"wants {_wanted(row, os)}" for _, row in known])
    yield Found(
        f"{wishes}, but {pin.library} {pin.version} is pinned; {verdict}",
        pin.key,
        {
            "left out": ", ".join(core.version for core in left_out),
            "serves all": ", ".join(common),
            "table": ", ".join(dict.fromkeys(row.source for _, row in known)),
        },
    )


def _wanted(row: CoreRow, os: str) -> str:
    if row.file_name == "versioned" and os != "win":
        return f"{row.library} {row.onnxruntime}"
    least = f" from {row.onnxruntime_least} on" if row.onnxruntime_least else ""
    return f"{row.library}{least}"


@rule(
    "cores-cuda",
    "error",
    why="All cores of a bundle share one ONNX Runtime and its CUDA, and a CUDA provider is linked "
    "with one major.",
    source=_LOADER,
    fix="Leave out the cores of the other generation of CUDA.",
)
def cores_cuda(evidence: PinEvidence) -> Iterator[Found]:
    """Every core of the bundle is of one generation of CUDA."""
    known = _known(evidence)
    majors = {row.cuda for _, row in known}
    if evidence.target.device != "cuda" or len(majors) < 2:
        return
    newest = known[0][1].cuda
    blamed = next(core for core, row in known if row.cuda != newest)
    wishes = _wishes(known, [f"wants CUDA {row.cuda}" for _, row in known])
    yield Found(
        f"{wishes}; no CUDA serves all",
        blamed.key,
        {
            "wanted": ", ".join(map(str, sorted(majors))),
            "table": ", ".join(dict.fromkeys(row.source for _, row in known)),
        },
    )


@rule(
    "cores-models",
    "error",
    why="Cores that load voice models read them from one folder, and an older one refuses a newer "
    "format; a newer one still loads the older.",
    source="VOICEVOX/voicevox_core#1400",
    fix="Pin models of a format that every core loads, or leave out the cores that do not.",
)
def cores_models(evidence: PinEvidence) -> Iterator[Found]:
    """The voice models have a format that every core of the bundle loads."""
    pin = evidence.pins.get("models")
    models = evidence.tables.models.row(pin.version) if pin else None
    # A core without formats has its voices inside and leaves the folder alone.
    known = [(core, row) for core, row in _known(evidence) if row.models]
    if pin is None or models is None or all(models.format in row.models for _, row in known):
        return
    common = sorted(set.intersection(*(set(row.models) for _, row in known)))
    verdict = (
        f"format {' or '.join(map(str, common))} serves all" if common else "no format serves all"
    )
    wishes = _wishes(known, [f"loads {', '.join(map(str, row.models))}" for _, row in known])
    yield Found(
        f"{wishes}, but models {pin.version} have format {models.format}; {verdict}",
        pin.key,
        {"format": str(models.format), "serves all": ", ".join(map(str, common))},
    )


@rule(
    "cores-twice",
    "warning",
    why="The engine takes one core of each version and passes over the other.",
    source=_LOADER,
    fix="Leave out the second.",
)
def cores_twice(evidence: PinEvidence) -> Iterator[Found]:
    """No core is in the bundle twice."""
    seen = {core.version: core.key for core in reversed(evidence.cores)}
    for version, key in seen.items():
        times = sum(core.version == version for core in evidence.cores)
        if times > 1:
            yield Found(f"core {version} is pinned {times} times", key)
