"""All that tells a version tells the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.bundle.good import bundle, elf, file, found, only, pe, windows
from vvbuild.rules.bundle.versions import agree
from vvbuild.rules.data import Document, PackedFacts
from vvbuild.rules.evidence import BundleEvidence


def engine(version: str, **options: Any) -> BundleEvidence:
    """The good bundle of an engine of that version."""
    plain = {"manifest": {"version": version}, "engine": {"version": version}}
    return bundle(**{**plain, **options})


def test_b016_an_engine_that_is_not_the_expected_one_is_stopped() -> None:
    finding = only(engine("0.20.0", expected={"engine": "0.21.0"}), "version-disagrees")

    assert finding.message == ("engine 0.21.0 is expected, but engine_manifest.json says 0.20.0")
    assert found(engine("0.21.0", expected={"engine": "0.21.0"})) == []


def test_b016_a_version_that_is_not_what_was_built_is_stopped() -> None:
    finding = only(bundle(engine={"version": "0.20.0"}), "version-disagrees")

    assert finding.message == "says '1.0', but it was built as '0.20.0'"
    assert found(bundle(engine={})) == []


@pytest.mark.parametrize(
    ("component", "good", "bad"),
    [
        ("onnxruntime", "1.23.2", "1.17.3"),
        ("onnxruntime", "1.23", "1.2"),
        ("core", "0.17.0", "0.16.4"),
        ("python", "3.11.9", "3.14"),
        ("engine", "1.0", "1.0.0"),
    ],
)
def test_b016_any_component_can_be_expected(component: str, good: str, bad: str) -> None:
    told = {
        "components": {"onnxruntime": "1.23.2", "core": "0.17.0"},
        "python": {"version": "3.11.9"},
    }
    known = [] if component != "python" else [file("libpython3.11.so.1.0", binary=elf())]

    assert found(bundle(*known, expected={component: good}, **told)) == []
    only(bundle(*known, expected={component: bad}, **told), "version-disagrees")


def test_b016_what_the_bytes_say_counts_before_vvbuild_json() -> None:
    """The library is 1.23.2, whatever was written down."""
    evidence = bundle(expected={"onnxruntime": "1.17.3"}, components={})

    finding = only(evidence, "version-disagrees")
    assert finding.path == "libonnxruntime.so"
    assert finding.evidence == {"expected": "1.17.3", "found": "1.23.2"}


def test_b016_an_expectation_that_nothing_can_confirm_is_not_met() -> None:
    finding = only(bundle(expected={"models": "0.16.4"}), "version-disagrees")

    assert finding.message == "models 0.16.4 is expected, and nothing tells its version"


@pytest.mark.parametrize("version", ["999.999.999", "latest"])
def test_b089_a_version_that_stands_for_none_is_stopped(version: str) -> None:
    assert "stands for no version" in only(engine(version), "version-disagrees").message


@pytest.mark.parametrize(
    "name",
    [
        "voicevox_engine-linux-cpu-x64-0.25.1.vvpp",
        "voicevox_engine-linux-cpu-x64-0.25.1.001.vvppp",
        "voicevox_engine-linux-cpu-x64-0.25.1.7z.001",
        "voicevox_engine-linux-cpu-x64-0.25.1.tar.zst",
    ],
)
def test_b089_an_archive_that_is_called_another_version_is_stopped(name: str) -> None:
    seen = {"packed": PackedFacts("7z", {name: 3})}

    finding = only(engine("0.25.0", seen=seen), "version-disagrees")

    assert finding.message == "says '0.25.0', but the archive is called '0.25.1'"
    assert found(engine("0.25.1", seen=seen)) == []


@pytest.mark.parametrize("name", ["engine.vvpp", "engine-x64.7z.001", "0.25.1.vvpp"])
def test_an_archive_may_be_called_without_a_version(name: str) -> None:
    assert found(engine("0.25.0", seen={"packed": PackedFacts("vvpp", {name: 3})})) == []


def test_a_preview_is_a_version_too() -> None:
    name = "voicevox_engine-linux-cpu-x64-0.26.0-preview.0.001.vvppp"
    seen = {"packed": PackedFacts("vvpp", {name: 3})}

    assert found(engine("0.26.0-preview.0", seen=seen)) == []
    only(engine("0.26.0", seen=seen), "version-disagrees")


def test_b093_notes_of_an_earlier_version_are_told() -> None:
    def seen(version: str) -> dict[str, object]:
        return {"documents": {"infos.json": Document([{"version": version}])}}

    finding = only(engine("0.15.1", seen=seen("0.15.0")), "version-disagrees")

    assert (finding.severity, finding.path) == ("warning", "infos.json")
    assert found(engine("0.15.1", seen=seen("0.15.1"))) == []


@pytest.mark.parametrize("value", [None, [], {}, [[]], [{}], [{"version": []}], "x", 3])
def test_notes_of_any_shape_are_judged(value: object) -> None:
    evidence = bundle(seen={"documents": {"infos.json": Document(value)}})

    assert {rule for rule, _ in found(evidence)} <= {"manifest-invalid"}


@pytest.mark.parametrize(
    ("name", "version", "pinned"),
    [
        ("libcudart.so.11.6.55", None, "11.8.0"),
        ("cudart64_110.dll", "6.14.11.11060", "11.8.0"),
    ],
)
def test_b013_cuda_of_another_version_than_the_pin_is_stopped(
    name: str, version: str | None, pinned: str
) -> None:
    if version is None:

        def evidence(pin: str) -> BundleEvidence:
            return bundle(
                file(name, binary=elf(soname="libcudart.so.11.0")), components={"cuda": pin}
            )
    else:

        def evidence(pin: str) -> BundleEvidence:
            return windows(
                file(name, binary=pe(dll=True, version=version)), components={"cuda": pin}
            )

    finding = only(evidence(pinned), "version-disagrees")

    assert finding.message == f"is cuda 11.6, and vvbuild.json says {pinned}"
    assert found(evidence("11.6.2")) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("12.8.1", "12", True), ("12", "12.8.1", True), ("12.8", "12.9", False),
        ("1.2", "1.23", False), ("9.10.2.21", "9.10.2", True), ("8.9.2.26_cuda12", "8.9.2", True),
    ],
)  # fmt: skip
def test_versions_agree_as_far_as_they_go(one: str, other: str, same: bool) -> None:
    assert agree(one, other) is same
