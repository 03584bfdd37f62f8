"""Rules over a bundle: the engine's manifest and the files that it names."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_ENGINE = "VOICEVOX/voicevox_engine"
_PATH = "engine_manifest.json"
_NAMED_FILES = ("icon", "terms_of_service", "update_infos", "dependency_licenses")
_LISTS = ("update_infos", "dependency_licenses")
# What the editor reads as a text that says something; `url` may be empty.
_TEXTS = ("name", "brand_name", "uuid", "version", "command", *_NAMED_FILES)
_NUMBERS = ("port", "default_sampling_rate", "frame_rate")


@rule(
    "manifest-invalid",
    "error",
    why="Engine and editor both refuse to start without a complete engine_manifest.json; "
    "a byte order mark is enough to break it.",
    source=f"{_ENGINE}, voicevox_engine/engine_manifest.py",
    fix="Mend engine_manifest.json in the engine's sources, and pack the bundle's content, not "
    "the folder around it.",
)
def manifest_invalid(evidence: BundleEvidence) -> Iterator[Found]:
    """The manifest lies at the top with every field, and the files that it names are there."""
    if evidence.top and (evidence.packed is None or evidence.packed.kind == "vvpp"):
        yield Found(f"lies one level too deep, in {evidence.top}/", _PATH)
    data = evidence.manifest.data
    if data is None:
        yield Found(evidence.manifest.problem or "is missing", _PATH)
        return
    fields = evidence.tables.bytes.content.manifest_fields(str(data.get("version", "")))
    missing = [key for key in fields if key not in data]
    if missing:
        yield Found(f"lacks {', '.join(missing)}", _PATH)
    wrong = [key for key in fields if key in data and not _is_good(key, data[key])]
    if wrong:
        yield Found(
            f"has no usable {', '.join(wrong)}", _PATH, {key: repr(data[key]) for key in wrong}
        )
    yield from _named(evidence, {key: value for key, value in data.items() if key not in wrong})


@rule(
    "manifest-command",
    "error",
    why="The editor starts `command`, and makes that very file executable; on Windows it must end "
    "in .exe.",
    source=f"{_ENGINE}, .github/workflows/build-engine.yml",
    fix="Let vvbuild set the command, or name the program in engine_manifest.json.",
)
def manifest_command(evidence: BundleEvidence) -> Iterator[Found]:
    """The manifest's command is the program."""
    command = (evidence.manifest.data or {}).get("command", evidence.program)
    if command != evidence.program and _is_good("command", command):
        yield Found(f"starts {command!r}, but the program is {evidence.program!r}", _PATH)


def _is_good(key: str, value: object) -> bool:
    """Whether the editor can use a field's value."""
    if key in _TEXTS:
        return isinstance(value, str) and bool(value.strip())
    if key in _NUMBERS:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
    if key == "supported_features":
        return isinstance(value, dict) and all(map(_is_feature, value.values()))
    return isinstance(value, str)


def _is_feature(value: object) -> bool:
    return isinstance(value, dict) and value.keys() >= {"type", "value", "name"}


def _named(evidence: BundleEvidence, data: Mapping[str, object]) -> Iterator[Found]:
    """What is wrong with the files that the manifest names."""
    for key in _NAMED_FILES:
        named = data.get(key)
        if not isinstance(named, str):
            continue
        path = posixpath.normpath(named)
        document = evidence.documents.get(path)
        if path not in evidence.files:
            yield Found(f"names {named!r} as {key}, which is not there", _PATH)
        elif document is not None and document.problem is not None:
            yield Found(f"is named as {key}, but {document.problem}", path)
        elif key in _LISTS and document is not None and not _is_list(document.value):
            yield Found(f"is named as {key}, but is no list of objects", path)


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)
