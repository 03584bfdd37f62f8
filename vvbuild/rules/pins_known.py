"""Rules over pins: what is known to go wrong, and pins that move under a release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from vvbuild.model.compat import TroubleRow
from vvbuild.model.release import ComponentName
from vvbuild.model.target import covered
from vvbuild.model.version import numbers, within
from vvbuild.rules.pin_evidence import PinEvidence
from vvbuild.rules.registry import Family, Found
from vvbuild.rules.shared import MODELS_MIXED

rule = Family(PinEvidence)

_ENGINE = "VOICEVOX/voicevox_engine"
# What a host makes anew from a commit, so that its bytes may change: GitHub's and GitLab's names.
_MADE_ANEW = re.compile(
    r"/archive/|/-/archive/|/tarball/|/zipball/|^https://codeload\.github\.com/"
)
_BRANCH = re.compile(
    r"/archive/refs/heads/|/archive/(main|master|develop|HEAD)\b|/raw/(main|master)/"
)
_PLACEHOLDERS = ("0.0.0", "999.999.999")
_BRACED = re.compile(r"\\\{(\w+)\\\}")


@rule(
    "known-bad-version",
    "error",
    why="A release with it was taken back, or was held up for it.",
    source="vvbuild, manifests/compat/troubles.toml",
    fix="Pin a version outside of the range that the table tells.",
)
def known_bad_version(evidence: PinEvidence) -> Iterator[Found]:
    """No pin is known to make a release that must not go out."""
    yield from _troubles(evidence, grave=True)


@rule(
    "known-trouble",
    "warning",
    why="It is known to go wrong for some users; a release with it should know.",
    source="vvbuild, manifests/compat/troubles.toml",
    fix="Pin a version outside of the table's range, or say it in the release's notes.",
)
def known_trouble(evidence: PinEvidence) -> Iterator[Found]:
    """No pin is known to go wrong for some users."""
    yield from _troubles(evidence, grave=False)


def _troubles(evidence: PinEvidence, *, grave: bool) -> Iterator[Found]:
    for row in evidence.tables.troubles.trouble:
        if row.grave is not grave or not _concerns(row, evidence):
            continue
        for version, key in _versions(evidence, row.component):
            if within(version, row.versions):
                beside = [
                    f"{name} {each}"
                    for name, wanted in row.together.items()
                    for each, _ in _versions(evidence, name)
                    if within(each, wanted)
                ]
                with_others = f" with {', '.join(beside)}" if beside else ""
                yield Found(
                    f"{row.component} {version}{with_others} {row.what} ({row.source})",
                    key,
                    {"versions": row.versions, "pinned": version, "table": row.source},
                )


def _concerns(row: TroubleRow, evidence: PinEvidence) -> bool:
    pin = evidence.pins.get(row.component)
    return (
        pin is not None
        and row.flavour in (None, pin.flavour)
        and (row.runners is None or evidence.runner in row.runners)
        and covered(str(evidence.target), row.targets)
        and all(
            any(within(version, wanted) for version, _ in _versions(evidence, name))
            for name, wanted in row.together.items()
        )
    )


def _versions(evidence: PinEvidence, name: ComponentName) -> Iterator[tuple[str, str]]:
    """The versions of a component with their keys; extra cores are cores."""
    if name == "core":
        yield from ((core.version, core.key) for core in evidence.cores)
    elif (pin := evidence.pins.get(name)) is not None:
        yield pin.version, pin.key


@rule(
    "engine-version-placeholder",
    "error",
    why="The editor and the user see the engine's version; what stands in the sources until a "
    "release sets it says nothing.",
    source=f"{_ENGINE}#1232",
    fix="Set `engine.version` to the release's.",
)
def engine_version_placeholder(evidence: PinEvidence) -> Iterator[Found]:
    """The engine has a version of its own."""
    plain = evidence.engine.partition("-")[0]
    if numbers(plain) is None or plain in _PLACEHOLDERS:
        yield Found(f"the engine's version is {evidence.engine!r}", "engine.version")


@rule.about(MODELS_MIXED)
def models_mixed(evidence: PinEvidence) -> Iterator[Found]:
    """A release with other products' voices is taken by a pattern."""
    pin = evidence.pins.get("models")
    row = evidence.tables.models.row(pin.version) if pin else None
    if pin is not None and row is not None and row.mixed and not pin.pattern:
        yield Found(
            f"models {pin.version} hold other products' voices, but no pattern chooses among them",
            pin.key,
            {"table": row.source},
        )


@rule(
    "core-asset-name",
    "error",
    why="A core's archives were renamed with 0.16: under the name of the other era there is "
    "nothing to fetch.",
    source="VOICEVOX/voicevox_core#1114",
    fix="Name the archive as cores of that series are named.",
)
def core_asset_name(evidence: PinEvidence) -> Iterator[Found]:
    """The core's archive has the name that archives of its version have."""
    row, version = evidence.core_row, evidence.version("core")
    if row is None or row.asset is None or version is None:
        return
    for each in evidence.references:
        name = each.text.rpartition("/")[2]
        if each.component != "core" or name == row.asset:
            continue
        if not _spelled_like(row.asset, version).fullmatch(name):
            yield Found(
                f"core {version} is published as {row.asset}, but {name} is fetched",
                each.key,
                {"expected": row.asset, "fetched": name, "table": row.source},
            )


@lru_cache(maxsize=256)
def _spelled_like(asset: str, version: str) -> re.Pattern[str]:
    """A file name with its placeholders as they are, or filled."""

    def spelled(found: re.Match[str]) -> str:
        filled = re.escape(version) if found[1] == "version" else "[a-z0-9_]+"
        return rf"(?:{filled}|{re.escape('{' + found[1] + '}')})"

    return re.compile(_BRACED.sub(spelled, re.escape(asset)))


@rule(
    "reference-moves",
    "error",
    why="What a branch holds changes under a release.",
    source="microsoft/onnxruntime#18286",
    fix="Name a release's file, or a commit.",
)
def reference_moves(evidence: PinEvidence) -> Iterator[Found]:
    """No file is fetched from a branch."""
    for each in evidence.references:
        if _BRANCH.search(each.text):
            yield Found(f"{each.component} is fetched from a branch: {each.text}", each.key)


@rule(
    "reference-made-anew",
    "warning",
    why="A host makes the archive of a commit anew, and its digest has changed before; the lock "
    "then stops the build.",
    source="microsoft/onnxruntime#26656",
    fix="Name a file that was uploaded, or fetch the commit by git.",
)
def reference_made_anew(evidence: PinEvidence) -> Iterator[Found]:
    """No file is an archive that its host makes anew."""
    for each in evidence.references:
        if _MADE_ANEW.search(each.text) and not _BRANCH.search(each.text):
            yield Found(f"{each.component} is fetched as {each.text}", each.key)


@rule(
    "runner-moves",
    "error",
    why="The newest image of a runner is another one next year, with a newer glibc: what it builds "
    "then does not start on older systems.",
    source=f"{_ENGINE}#510",
    fix="Name the image's version, such as ubuntu-22.04.",
)
def runner_moves(evidence: PinEvidence) -> Iterator[Found]:
    """The runner's image has a version."""
    if evidence.runner is not None and evidence.runner.endswith("-latest"):
        yield Found(
            f"{evidence.target} is built on {evidence.runner}", f"runners.{evidence.target}"
        )
