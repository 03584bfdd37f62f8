"""Rules over a bundle: the engine's manifest and its versions."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_ENGINE = "VOICEVOX/voicevox_engine"
_NAMED_FILES = ("icon", "terms_of_service", "update_infos", "dependency_licenses")
_MANIFEST_KEYS = (
    "manifest_version", "name", "brand_name", "uuid", "version", "url", "command", "port", "icon",
    "default_sampling_rate", "frame_rate", "terms_of_service", "update_infos",
    "dependency_licenses", "supported_features",
)  # fmt: skip


@rule(
    "manifest-invalid",
    "error",
    why="Engine and editor both refuse to start without a complete engine_manifest.json; "
    "a byte order mark is enough to break it.",
    source=f"{_ENGINE}, voicevox_engine/engine_manifest.py",
    fix="Mend engine_manifest.json in the engine's sources.",
)
def manifest_invalid(evidence: BundleEvidence) -> Iterator[Found]:
    """The manifest is a JSON object with every field, and the files that it names are there."""
    path = "engine_manifest.json"
    if evidence.manifest.data is None:
        yield Found(evidence.manifest.problem or "is missing", path)
        return
    missing = [key for key in _MANIFEST_KEYS if key not in evidence.manifest.data]
    if missing:
        yield Found(f"lacks {', '.join(missing)}", path)
    for key in _NAMED_FILES:
        named = evidence.manifest.data.get(key)
        if isinstance(named, str) and posixpath.normpath(named) not in evidence.files:
            yield Found(f"names {named!r} as {key}, which is not there", path)


@rule(
    "manifest-command",
    "error",
    why="The editor starts `command`; on Windows it must end in .exe.",
    source=f"{_ENGINE}, .github/workflows/build-engine.yml",
    fix="Let vvbuild set the command, or name the program in engine_manifest.json.",
)
def manifest_command(evidence: BundleEvidence) -> Iterator[Found]:
    """The manifest's command is the program."""
    command = (evidence.manifest.data or {}).get("command", evidence.program)
    if command != evidence.program:
        yield Found(
            f"starts {command!r}, but the program is {evidence.program!r}",
            "engine_manifest.json",
        )


@rule(
    "version-disagrees",
    "error",
    why="The editor and the user see the manifest's version; a wrong one hides what is installed.",
    source="VOICEVOX/voicevox#2297",
    fix="Build with the release whose engine version is meant.",
)
def version_disagrees(evidence: BundleEvidence) -> Iterator[Found]:
    """The manifest's version is the one that the bundle was built as."""
    built = evidence.section("engine").get("version")
    shown = (evidence.manifest.data or {}).get("version", built)
    if built is not None and shown != built:
        yield Found(
            f"says {shown!r}, but it was built as {built!r}",
            "engine_manifest.json",
        )
