"""Rules over pins: core, voice models, its downloader, and what a release must have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vvbuild.model.release import ComponentName
from vvbuild.model.target import covered
from vvbuild.model.version import clauses, numbers, older, series, within
from vvbuild.rules.pin_evidence import PinEvidence
from vvbuild.rules.registry import Family, Found
from vvbuild.rules.shared import MODELS_FORMAT

rule = Family(PinEvidence)

_CORE = "VOICEVOX/voicevox_core"
_DOWNLOADER = f"{_CORE}, crates/downloader/src/main.rs"
_RUNTIMES = f"{_CORE}, crates/voicevox_core/src/core/infer/runtimes/onnxruntime.rs"
_LATEST = "latest"
_RELEASE = re.compile(r"\d+\.\d+\.\d+")


@rule(
    "core-ort-api",
    "error",
    why="A core asks ONNX Runtime for one version of its API, and an older library refuses.",
    source=_RUNTIMES,
    fix="Pin an ONNX Runtime inside the core's range.",
)
def core_ort_api(evidence: PinEvidence) -> Iterator[Found]:
    """ONNX Runtime is not older than the API that the core uses."""
    row, pin = evidence.core_row, evidence.pins.get("onnxruntime")
    if row is None or pin is None or row.onnxruntime_least is None:
        return
    if older(pin.version, row.onnxruntime_least):
        yield Found(
            f"core {evidence.version('core')} needs onnxruntime {row.onnxruntime_least} or newer, "
            f"but {pin.version} is pinned",
            pin.key,
            {"least": row.onnxruntime_least, "pinned": pin.version, "table": row.source},
        )


@rule(
    "core-ort-untried",
    "warning",
    why="A core takes an ONNX Runtime newer than all that it was tried with, and says so in its "
    "log.",
    source=_RUNTIMES,
    fix="Pin an ONNX Runtime inside the core's range, or try this one.",
)
def core_ort_untried(evidence: PinEvidence) -> Iterator[Found]:
    """ONNX Runtime is not newer than those that the core was tried with."""
    row, pin = evidence.core_row, evidence.pins.get("onnxruntime")
    if row is None or pin is None or row.onnxruntime_most is None:
        return
    if (series(pin.version) or ()) > (series(row.onnxruntime_most) or ()):
        yield Found(
            f"core {evidence.version('core')} was tried with onnxruntime up to "
            f"{row.onnxruntime_most}, but {pin.version} is pinned",
            pin.key,
            {"most": row.onnxruntime_most, "pinned": pin.version, "table": row.source},
        )


@rule(
    "core-ort-filename",
    "error",
    why="Such a core opens ONNX Runtime by one file name that holds the version it was made for; "
    "under another name it is not found. Windows' name has no version.",
    source="VOICEVOX/voicevox_engine#1871",
    fix="Pin the ONNX Runtime that the core was made for, or move to a core for the newer one.",
)
def core_ort_filename(evidence: PinEvidence) -> Iterator[Found]:
    """ONNX Runtime has the file name that the core opens."""
    row, pin = evidence.core_row, evidence.pins.get("onnxruntime")
    if row is None or pin is None:
        return
    core = f"core {evidence.version('core')}"
    facts = {"opens": f"{row.library} {row.onnxruntime}", "table": row.source}
    if pin.library != row.library:
        yield Found(f"{core} opens {row.library}, but {pin.library} is pinned", pin.key, facts)
    elif (
        row.file_name == "versioned"
        and evidence.target.os != "win"
        and numbers(pin.version) != numbers(row.onnxruntime)
    ):
        yield Found(
            f"{core} opens the file name of {row.library} {row.onnxruntime}, "
            f"but {pin.version} is pinned",
            pin.key,
            facts | {"pinned": pin.version},
        )


@rule.about(MODELS_FORMAT)
def models_format(evidence: PinEvidence) -> Iterator[Found]:
    """The voice models have a format that the core loads."""
    row, pin = evidence.core_row, evidence.pins.get("models")
    models = evidence.tables.models.row(pin.version) if pin else None
    if row is None or pin is None or models is None or models.format in row.models:
        return
    known = ", ".join(map(str, row.models)) or "none of these files"
    yield Found(
        f"models {pin.version} have format {models.format}, "
        f"but core {evidence.version('core')} loads {known}",
        pin.key,
        {"format": str(models.format), "loads": known, "table": models.source},
    )


@rule(
    "models-lockstep",
    "warning",
    why="Models are released with a core of their series; a pin that stayed behind ships old "
    "voices.",
    source="VOICEVOX/voicevox_engine#1875",
    fix="Move the models together with the core.",
)
def models_lockstep(evidence: PinEvidence) -> Iterator[Found]:
    """Core and voice models are of one series."""
    core, pin = evidence.version("core"), evidence.pins.get("models")
    if core is None or pin is None or None in (series(core), series(pin.version)):
        return
    if series(core) != series(pin.version):
        yield Found(f"core is {core}, but the models are {pin.version}", pin.key, {"core": core})


@rule(
    "downloader-range",
    "warning",
    why="The downloader takes components of certain versions; outside of them it only warns, and "
    "what it fetches was never tried together.",
    source=_DOWNLOADER,
    fix="Pin a version inside the downloader's range, or a downloader that takes it.",
)
def downloader_range(evidence: PinEvidence) -> Iterator[Found]:
    """What the downloader fetches lies in the range that it takes."""
    downloader = evidence.version("downloader") or evidence.version("core")
    row = evidence.tables.core.row(downloader) if downloader else None
    for name, wanted in (row.downloads if row else {}).items():
        pin = evidence.pins.get(name)
        if pin is None or pin.source != "core-downloader" or numbers(pin.version) is None:
            continue
        if not within(pin.version, wanted):
            yield Found(
                f"downloader {downloader} takes {name} {wanted}, but {pin.version} is pinned",
                pin.key,
                {"range": wanted, "pinned": pin.version, "table": row.source if row else ""},
            )


@rule(
    "downloader-latest-drift",
    "error",
    why="Without a version the downloader takes the newest, which changes under a release: it has "
    "picked an older core by date, and CUDA 12 libraries for a CUDA 11 core.",
    source=f"{_CORE}#1110",
    fix="Pin the version, the additional libraries' too.",
)
def downloader_latest_drift(evidence: PinEvidence) -> Iterator[Found]:
    """Nothing is left to the downloader's choice."""
    fetched = {n: pin for n, pin in evidence.pins.items() if pin.source == "core-downloader"}
    for name, pin in fetched.items():
        if pin.version == _LATEST:
            yield Found(f"the downloader would choose the version of {name}", pin.key)
    for name in ("cuda", "cudnn", "directml"):
        if name in fetched and "additional-libraries" not in evidence.pins:
            yield Found(
                f"{name} comes from the downloader, but no additional libraries are pinned",
                fetched[name].key,
            )


@rule(
    "target-unavailable",
    "error",
    why="A combination that was never published ends with a download that is not found.",
    source=f"{_CORE}#670",
    fix="Choose one of the targets that exist, or a version that has it.",
)
def target_unavailable(evidence: PinEvidence) -> Iterator[Found]:
    """The release is built for the target, and its ONNX Runtime was published for it."""
    if str(evidence.target) not in evidence.targets:
        yield Found(
            f"{evidence.release} is not built for {evidence.target}; "
            f"its targets are {', '.join(evidence.targets)}",
            "targets",
        )
    pin = evidence.pins.get("onnxruntime")
    for row in evidence.tables.onnxruntime.missing if pin else ():
        fits = pin is not None and row.flavour == pin.flavour and within(pin.version, row.versions)
        if pin and fits and covered(str(evidence.target), row.targets):
            yield Found(
                f"onnxruntime {pin.version} ({pin.flavour}) was not published for it",
                pin.key,
                {"table": row.source},
            )


@rule(
    "python-pyinstaller",
    "error",
    why="PyInstaller refuses to be installed for a Python that it does not know.",
    source="pypi:pyinstaller",
    fix="Move Python and PyInstaller together.",
)
def python_pyinstaller(evidence: PinEvidence) -> Iterator[Found]:
    """PyInstaller takes every Python that the release allows."""
    pin = evidence.pins.get("pyinstaller")
    row = evidence.tables.pyinstaller.row(pin.version) if pin else None
    if pin is None or row is None:
        return
    try:
        wanted = clauses(evidence.python)
    except ValueError:
        return
    upper = next(bound for sign, bound in clauses(row.python) if sign == "<")
    for sign, bound in wanted:
        beyond = older(upper, bound) if sign == "<" else not within(bound, row.python)
        if beyond:
            yield Found(
                f"pyinstaller {pin.version} takes Python {row.python}, "
                f"but {evidence.python} is pinned",
                pin.key,
                {"takes": row.python, "python": evidence.python, "table": row.source},
            )
            return


@rule(
    "unbounded-pin",
    "error",
    why="An open-ended version becomes another one without any change of ours: `>=1.20` once "
    "became the first build for CUDA 13.",
    source="ebongard/renfield#932",
    fix="Pin one version.",
)
def unbounded_pin(evidence: PinEvidence) -> Iterator[Found]:
    """Every pin is one version."""
    for name, pin in evidence.pins.items():
        for version in (pin.version, *pin.also):
            if not _is_one_version(version):
                yield Found(f"{name} is pinned as {version!r}, which is no version", pin.key)


@rule(
    "duplicate-pin-disagrees",
    "error",
    why="One version that is written in two places is changed in one of them.",
    source="VOICEVOX/voicevox_engine#709",
    fix="Write in both places what is really delivered.",
)
def duplicate_pin_disagrees(evidence: PinEvidence) -> Iterator[Found]:
    """Versions that are told twice are the same."""
    libraries = evidence.libraries_row
    for name, packed in (libraries.packs() if libraries else {}).items():
        pin = evidence.pins.get(name)
        if pin is None or pin.provided_by != "additional-libraries" or libraries is None:
            continue
        if numbers(pin.version) != numbers(packed):
            yield Found(
                f"the additional libraries {libraries.version} hold {name} {packed}, "
                f"but {pin.version} is pinned",
                pin.key,
                {"packed": packed, "pinned": pin.version, "table": libraries.source},
            )
    engine = evidence.pins.get("engine")
    if engine is not None and engine.version != evidence.engine:
        yield Found(f"the engine is {evidence.engine}, but {engine.version} is pinned", engine.key)
    if _RELEASE.fullmatch(evidence.release) and evidence.release != evidence.engine:
        yield Found(
            f"the release is called {evidence.release}, but its engine is {evidence.engine}",
            "engine.version",
        )


@rule(
    "release-incomplete",
    "error",
    why="A part that nobody pinned is a part that is not in the bundle, or one by chance.",
    source="VOICEVOX/voicevox_engine, .github/workflows/build-engine.yml",
    fix="Pin the component for this target.",
)
def release_incomplete(evidence: PinEvidence) -> Iterator[Found]:
    """A release pins what its device, and its core, cannot do without."""
    if str(evidence.target) not in evidence.targets:
        return
    needed = ["onnxruntime"]
    if evidence.target.device == "cuda":
        optional = evidence.cuda_row is not None and evidence.cuda_row.cudnn_optional
        needed += ["cuda"] if optional else ["cuda", "cudnn"]
    elif evidence.target.device == "directml":
        needed += ["directml"]
    if evidence.core_row is not None and evidence.core_row.models:
        needed += ["models"]
    for name in needed:
        if name not in evidence.pins:
            yield Found(f"{name} is not pinned", "components")


@rule(
    "no-compat-row",
    "warning",
    why="What no table knows, nobody judged: silence would look like a pass.",
    source="vvbuild, manifests/compat",
    fix="Add a row, with its source, to the table.",
)
def no_compat_row(evidence: PinEvidence) -> Iterator[Found]:
    """The tables know the pinned core, ONNX Runtime, models and additional libraries."""
    runtime = evidence.pins.get("onnxruntime")
    tables = evidence.tables
    known: dict[ComponentName, object] = {
        "core": evidence.core_row,
        "onnxruntime": evidence.cuda_row if evidence.target.device == "cuda" else True,
        "additional-libraries": evidence.libraries_row,
        "models": tables.models.row(evidence.version("models") or ""),
        "pyinstaller": tables.pyinstaller.row(evidence.version("pyinstaller") or ""),
    }
    if runtime is not None and evidence.target.device == "directml":
        known["onnxruntime"] = tables.onnxruntime.directml_row(runtime.version)
    for name, row in known.items():
        pin = evidence.pins.get(name)
        if pin is None or row is not None or not _is_one_version(pin.version):
            continue
        whose = f" ({pin.flavour})" if pin.flavour else ""
        yield Found(f"no table knows {name} {pin.version}{whose}", pin.key)
    for core in evidence.cores:
        if core.row is None and core.key.startswith("components.extra-cores."):
            yield Found(f"no table knows the extra core {core.version}", core.key)


def _is_one_version(version: str) -> bool:
    plain = not any(each in version for each in "<>=~*^ ,")
    return plain and version != _LATEST and any(each.isdigit() for each in version)
