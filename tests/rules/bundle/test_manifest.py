"""The engine's manifest."""

from __future__ import annotations

import pytest

from tests.rules.bundle.good import MANIFEST, bundle, found, only, windows
from vvbuild.rules.data import Document, PackedFacts
from vvbuild.rules.evidence import JsonFile
from vvbuild.rules.registry import judge

# Manifest


def test_b086_a_bundle_without_a_manifest_is_stopped() -> None:
    evidence = bundle(without="engine_manifest.json", manifest=JsonFile())

    assert only(evidence, "manifest-invalid").message == "is missing"


@pytest.mark.parametrize("key", MANIFEST)
def test_b087_a_manifest_that_lacks_a_field_is_stopped(key: str) -> None:
    manifest = JsonFile({name: value for name, value in MANIFEST.items() if name != key})

    finding = only(bundle(manifest=manifest), "manifest-invalid")
    assert finding.message == f"lacks {key}"
    assert finding.path == "engine_manifest.json"


@pytest.mark.parametrize(
    ("version", "good"),
    [("0.14.7", True), ("0.15.1", True), ("0.16.0", False), ("1.0", False), ("main", False)],
)
def test_b087_a_field_that_came_later_is_not_missed_before(version: str, good: bool) -> None:
    told = {name: value for name, value in MANIFEST.items() if name != "frame_rate"}
    manifest = JsonFile({**told, "version": version})

    evidence = bundle(manifest=manifest, engine={"version": version})
    assert found(evidence) == ([] if good else [("manifest-invalid", "engine_manifest.json")])


def test_a_manifest_that_is_no_json_is_stopped() -> None:
    problem = "is not JSON: byte order mark"

    assert only(bundle(manifest=JsonFile(problem=problem)), "manifest-invalid").message == problem


@pytest.mark.parametrize("key", ["icon", "terms_of_service", "update_infos", "dependency_licenses"])
def test_a_file_that_the_manifest_names_must_be_there(key: str) -> None:
    finding = only(bundle(manifest={key: "nowhere.txt"}), "manifest-invalid")

    assert finding.message == f"names 'nowhere.txt' as {key}, which is not there"


def test_a_file_that_the_manifest_names_in_a_roundabout_way_is_there() -> None:
    assert found(bundle(manifest={"icon": "./resources/../resources/icon.png"})) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("version", ""), ("version", 1), ("name", " "), ("uuid", None), ("port", "50021"),
        ("port", True), ("port", 0), ("command", ""), ("supported_features", []),
        ("supported_features", {"sing": True}), ("supported_features", {"sing": {"type": "bool"}}),
    ],
)  # fmt: skip
def test_b087_a_field_that_the_editor_cannot_use_is_stopped(key: str, value: object) -> None:
    finding = only(bundle(manifest={key: value}), "manifest-invalid")

    assert finding.message == f"has no usable {key}"
    assert finding.evidence == {key: repr(value)}


def test_a_feature_with_type_value_and_name_passes() -> None:
    feature = {"type": "bool", "value": True, "name": "x"}

    assert found(bundle(manifest={"supported_features": {"sing": feature}})) == []


@pytest.mark.parametrize("packed", [None, PackedFacts("vvpp", {"e.vvpp": 3})])
def test_b046_a_bundle_one_level_too_deep_is_stopped(packed: PackedFacts | None) -> None:
    finding = only(bundle(seen={"top": "engine", "packed": packed}), "manifest-invalid")

    assert finding.message == "lies one level too deep, in engine/"


@pytest.mark.parametrize("kind", ["7z", "tar"])
def test_b046_other_archives_have_a_folder_at_the_top(kind: str) -> None:
    packed = PackedFacts(kind, {"e.7z.001": 3})

    assert found(bundle(seen={"top": "linux-cpu-x64", "packed": packed})) == []


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (Document(problem="is not JSON: x"), "is named as update_infos, but is not JSON: x"),
        (Document({}), "is no list of objects"),
        (Document([1]), "is no list of objects"),
    ],
)
def test_a_list_that_the_engine_cannot_read_is_stopped(document: Document, words: str) -> None:
    finding = only(bundle(seen={"documents": {"infos.json": document}}), "manifest-invalid")

    assert finding.path == "infos.json"
    assert words in finding.message


@pytest.mark.parametrize("command", ["run.exe", "./run", "run --port 3", "other"])
def test_b090_a_command_that_is_not_the_program_is_stopped(command: str) -> None:
    finding = only(bundle(manifest={"command": command}), "manifest-command")

    assert finding.message == f"starts {command!r}, but the program is 'run'"


def test_b090_a_windows_bundle_starts_an_exe() -> None:
    assert found(windows()) == []
    only(windows(manifest={"command": "run"}), "manifest-command")


@pytest.mark.parametrize("value", [None, 1, [], {}, "", "/", "..", "x" * 10_000, "\0"])
def test_a_manifest_of_any_shape_is_judged(value: object) -> None:
    for key in MANIFEST:
        judge(bundle(manifest={key: value}))
