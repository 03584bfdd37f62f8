"""Where newer versions would be listed: read from the manifest, not written down twice."""

from __future__ import annotations

import pytest

from vvbuild.manifest.policy import update_policy
from vvbuild.manifest.release import find_release, release_names
from vvbuild.model.policy import ComponentPolicy
from vvbuild.outdated.follow import Follow, Need, Place, follow


def of(release: str, component: str, policy: ComponentPolicy | None = None) -> Follow:
    return follow(find_release(release).row, component, policy or ComponentPolicy())


@pytest.mark.parametrize(
    ("release", "component", "places"),
    [
        ("0.25.2", "core", [Place("github", "VOICEVOX/voicevox_core")]),
        ("0.25.2", "downloader", [Place("github", "VOICEVOX/voicevox_core")]),
        ("0.25.2", "onnxruntime",
         [Place("github", "VOICEVOX/onnxruntime-builder", "voicevox_onnxruntime-{version}")]),
        ("0.24.1", "onnxruntime", [Place("github", "microsoft/onnxruntime", "v{version}")]),
        ("sample", "onnxruntime",
         [Place("pypi", "onnxruntime"), Place("npm", "onnxruntime-node"),
          Place("pypi", "onnxruntime-gpu")]),
        ("sample", "pyinstaller", [Place("pypi", "pyinstaller")]),
    ],
)  # fmt: skip
def test_projects_and_tags_come_from_the_references(
    release: str, component: str, places: list[Place]
) -> None:
    assert list(of(release, component).places) == places


def test_the_files_of_each_target_are_needed() -> None:
    needs = of("0.25.2", "additional-libraries").needs

    assert needs == (
        Need(needs[0].place, "DirectML-windows-x64.zip", ("win-x64-directml",)),
        Need(needs[0].place, "CUDA-windows-x64.zip", ("win-x64-cuda",)),
        Need(needs[0].place, "CUDA-linux-x64.zip", ("linux-x64-cuda",)),
    )


def test_models_are_any_assets_that_their_glob_takes() -> None:
    (need,) = [each for each in of("0.25.2", "models").needs if each.is_glob]

    assert need.place == Place("github", "VOICEVOX/voicevox_vvm")
    assert need.among(["0.vvm", "n0.vvm", "s0.vvm", "README.txt"], "0.16.4") == ["0.vvm", "s0.vvm"]


def test_versions_are_ordered_as_their_source_orders_them() -> None:
    assert of("sample", "pyinstaller").scheme == "python"
    assert of("0.25.2", "core").scheme == "plain"


@pytest.mark.parametrize(
    ("release", "component", "why"),
    [
        ("sample", "cuda", "Its references do not hold {version}."),
        ("0.24.1", "directml", "It comes from a plain address, which lists no versions."),
        ("0.25.2", "resource", "No artifact and no policy says where it comes from."),
    ],
)
def test_what_is_not_followed_says_why(release: str, component: str, why: str) -> None:
    assert of(release, component) == Follow((), why)


def test_the_policy_says_where_the_manifest_does_not() -> None:
    followed = of("0.25.2", "models", ComponentPolicy(follows="github:o/r@v{version}"))

    assert followed.needs == (Need(Place("github", "o/r", "v{version}"), "", ()),)


def test_the_policy_can_leave_a_component_alone() -> None:
    left = of("0.25.2", "core", ComponentPolicy(not_followed="frozen"))

    assert left == Follow((), "frozen")


def test_every_component_of_every_release_is_followed_or_says_why() -> None:
    policy = update_policy()
    for name in release_names():
        row = find_release(name).row
        for component, pin in row.components.items():
            if pin.provided_by is None:
                found = follow(row, component, policy.of(component))
                assert bool(found.needs) != bool(found.why_not), (name, component)
