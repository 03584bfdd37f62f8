"""The CI matrix of a release."""

from __future__ import annotations

import json

import pytest

from vvbuild.errors import UnknownNameError
from vvbuild.manifest.matrix import release_matrix
from vvbuild.manifest.release import find_release, release_names
from vvbuild.manifest.targets import find_target, target_table
from vvbuild.report.document import Raw
from vvbuild.report.plain import render
from vvbuild.report.views.matrix import matrix_view


@pytest.mark.parametrize("name", release_names())
def test_a_release_has_a_job_for_each_of_its_targets(name: str) -> None:
    release = find_release(name)
    view = matrix_view(name, release_matrix(release))

    (line,) = view.blocks
    assert isinstance(line, Raw)
    parsed = json.loads(line.text)
    assert list(parsed) == ["include"]
    assert parsed["include"] == view.data["include"]
    assert [row["target"] for row in parsed["include"]] == release.row.targets
    for target, row in zip(release.targets, parsed["include"], strict=True):
        assert row["runner"] == release.runner(target)
        assert row["upstream"] == release.upstream_name(target)
        assert row["archive"] == release.archive_names(target)[0]
        assert (row["os"], row["arch"], row["device"]) == (target.os, target.arch, target.device)
        assert row["shell"] == target_table().os[target.os].shell


def test_a_job_knows_what_upstream_wrote_by_hand() -> None:
    """One row of the workflow of 0.25.2, and its defaults.run.shell."""
    (row,) = release_matrix(find_release("0.25.2"), [find_target("windows-nvidia")])

    assert row.target == "win-x64-cuda"
    assert row.runner == "windows-2022"
    assert row.shell == "bash"
    assert row.upstream == "windows-nvidia"
    assert row.archive == "voicevox_engine-windows-nvidia-0.25.2"


@pytest.mark.parametrize(
    ("name", "python"),
    [("0.25.2", "3.11.9"), ("0.14.7", "3.8.10"), ("sample", ">=3.10 <3.14")],
)
def test_python_is_written_as_setup_python_reads_it(name: str, python: str) -> None:
    assert {row.python for row in release_matrix(find_release(name))} == {python}


def test_wanted_targets_stand_in_the_order_of_the_release() -> None:
    wanted = [find_target(name) for name in ("linux-nvidia", "windows-cpu", "linux-nvidia")]
    rows = release_matrix(find_release("main"), wanted)

    assert [row.target for row in rows] == ["win-x64-cpu", "linux-x64-cuda"]


def test_a_target_that_the_release_is_not_built_for_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="not built for linux-arm64-cpu") as caught:
        release_matrix(find_release("0.14.7"), [find_target("linux-arm64-cpu")])

    assert "win-x64-cuda" in caught.value.context["targets"]


def test_nothing_in_the_line_is_an_order_to_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    release = find_release("sample")
    monkeypatch.setattr(release, "runner", lambda target: "##[error]x\n::error::y")
    view = matrix_view("sample", release_matrix(release))
    text = render(view.blocks, 40)

    assert text.count("\n") == 1
    assert "##[" not in text
    assert json.loads(text)["include"] == view.data["include"]
