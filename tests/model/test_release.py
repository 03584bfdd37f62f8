"""What a release says of one target."""

from __future__ import annotations

import pytest

from vvbuild.manifest.release import find_release
from vvbuild.model.release import Component


def test_a_component_may_have_another_version_for_some_targets() -> None:
    row = Component(version="8.5", source="url", versions={"linux-*": "8.4"})

    assert row.version_for("linux-x64-cuda") == "8.4"
    assert row.version_for("win-x64-cuda") == "8.5"


@pytest.mark.parametrize(
    ("target", "present", "absent"),
    [
        ("win-x64-directml", {"directml": "1.15.4"}, "no such component"),
        ("linux-x64-cpu", {"onnxruntime": "1.23.2"}, "directml"),
    ],
)
def test_a_target_has_only_the_versions_of_what_concerns_it(
    target: str, present: dict[str, str], absent: str
) -> None:
    versions = find_release("sample").row.versions_for(target)

    assert present.items() <= versions.items()
    assert absent not in versions


def test_versions_follow_the_target() -> None:
    row = find_release("sample").row
    component = Component(version="9", source="url", versions={"win-*": "8"})
    changed = type(row)(
        **{name: getattr(row, name) for name in row.__struct_fields__}
        | {"components": {**row.components, "cudnn": component}}
    )

    assert changed.versions_for("win-x64-cuda")["cudnn"] == "8"
    assert changed.versions_for("linux-x64-cuda")["cudnn"] == "9"
