"""`vvbuild matrix`: one line for `fromJSON`, wherever it is printed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import get_args

import pytest
from rich.console import Console

from tests.cli.conftest import Said
from vvbuild.cli.ui import Format
from vvbuild.manifest.matrix import release_matrix
from vvbuild.manifest.release import find_release
from vvbuild.report.terminal import show
from vvbuild.report.views.matrix import matrix_view

Say = Callable[..., Said]
FOR_PEOPLE = [how for how in get_args(Format) if how not in ("json", "sarif")]


@pytest.mark.parametrize("how", FOR_PEOPLE)
@pytest.mark.parametrize("actions", [False, True], ids=["here", "on GitHub Actions"])
def test_standard_output_is_one_line_of_json(
    how: str, actions: bool, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true" if actions else "")
    monkeypatch.setenv("COLUMNS", "40")
    said = say("matrix", "--release", "0.25.2", "--format", how)

    assert said.status == 0
    assert said.out.count("\n") == 1
    assert len(json.loads(said.out)["include"]) == 8


def test_a_narrow_terminal_neither_breaks_nor_colours_it() -> None:
    view = matrix_view("main", release_matrix(find_release("main")))
    out = io.StringIO()
    show(view.blocks, Console(file=out, force_terminal=True, width=40, color_system="truecolor"))

    assert out.getvalue().count("\n") == 1
    assert "\x1b" not in out.getvalue()
    assert json.loads(out.getvalue())["include"] == view.data["include"]


def test_json_wraps_it(say: Say) -> None:
    document = say("matrix", "-r", "0.25.2", "-t", "windows-cpu", "--json").document

    assert document["command"] == "matrix"
    assert document["release"] == "0.25.2"
    assert [row["target"] for row in document["include"]] == ["win-x64-cpu"]


def test_the_release_of_nobody_is_the_sample(say: Say) -> None:
    assert say("matrix", "--json").document["release"] == "sample"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-r", "0.25.3"], "0.25.2"),
        (["-t", "windows-nvida"], "win-x64-cuda"),
        (["-r", "0.14.0", "-t", "linux-arm64-cpu"], "not built for linux-arm64-cpu"),
    ],
)
def test_wrong_names_are_told(words: list[str], message: str, say: Say) -> None:
    said = say("matrix", *words)

    assert said.status == 2
    assert said.out == ""
    assert message in said.err
