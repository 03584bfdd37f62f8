"""The engine's manifest."""

from __future__ import annotations

import pytest

from tests.rules.bundle.good import MANIFEST, bundle, found, only
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


def test_a_manifest_that_is_no_json_is_stopped() -> None:
    problem = "is not JSON: byte order mark"

    assert only(bundle(manifest=JsonFile(problem=problem)), "manifest-invalid").message == problem


@pytest.mark.parametrize("key", ["icon", "terms_of_service", "update_infos", "dependency_licenses"])
def test_a_file_that_the_manifest_names_must_be_there(key: str) -> None:
    finding = only(bundle(manifest={key: "nowhere.txt"}), "manifest-invalid")

    assert finding.message == f"names 'nowhere.txt' as {key}, which is not there"


def test_a_file_that_the_manifest_names_in_a_roundabout_way_is_there() -> None:
    assert found(bundle(manifest={"icon": "./resources/../resources/icon.png"})) == []


def test_b016_a_version_that_is_not_what_was_built_is_stopped() -> None:
    finding = only(bundle(engine={"version": "0.20.0"}), "version-disagrees")

    assert finding.message == "says '1.0', but it was built as '0.20.0'"
    assert found(bundle(engine={})) == []


@pytest.mark.parametrize("value", [None, 1, [], {}, "", "/", "..", "x" * 10_000, "\0"])
def test_a_manifest_of_any_shape_is_judged(value: object) -> None:
    for key in MANIFEST:
        judge(bundle(manifest={key: value}))
