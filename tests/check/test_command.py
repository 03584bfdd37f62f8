"""``vvbuild check`` as a user runs it: tables to read, JSON to build on, slips told."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.check.conftest import TODAY
from tests.cli.conftest import Said
from vvbuild.check.overrides import parse_override
from vvbuild.check.run import check
from vvbuild.manifest.release import find_release, release_names
from vvbuild.model.finding import Severity
from vvbuild.report.document import View
from vvbuild.report.plain import display_width, render
from vvbuild.report.views.check import check_view
from vvbuild.resources import manifests_dir

Say = Callable[..., Said]
ROOT = manifests_dir().parent
FIELDS = {
    "rule", "severity", "target", "path", "message", "evidence", "why", "source", "fix", "waived",
}  # fmt: skip


def view(
    *names: str, overrides: tuple[str, ...] = (), least: Severity = "info", today: date = TODAY
) -> View:
    result = check(
        [find_release(name) for name in names],
        today=today,
        overrides=[parse_override(text) for text in overrides],
        min_severity=least,
    )
    return check_view(result, base=ROOT)


def text(shown: View) -> str:
    """As on 80 columns; lines move with every edit of a manifest, so they stand for themselves."""
    return re.sub(r"\.toml:\d+", ".toml:N", render(shown.blocks, 80))


def test_what_a_changed_pin_does_reads_at_a_glance(snapshot: SnapshotAssertion) -> None:
    assert text(view("0.25.2", overrides=("onnxruntime=1.23.2",))) == snapshot


def test_all_releases_are_a_grid_and_then_each_thing_once(snapshot: SnapshotAssertion) -> None:
    shown = text(view(*release_names()))

    assert shown == snapshot
    grid = shown.splitlines()[: len(release_names()) + 2]
    assert all(display_width(line) <= 80 for line in grid)
    assert shown.count("warning[gpu-arch-uncovered]") == 1


def test_the_main_branch(snapshot: SnapshotAssertion) -> None:
    assert text(view("main")) == snapshot


def test_what_weighs_less_is_counted_and_not_told() -> None:
    every, errors = view("main", "0.25.2"), view("main", "0.25.2", least="error")

    assert "models-lockstep" in text(every)
    assert "models-lockstep" not in text(errors)
    assert "not shown" in text(errors)
    assert any(line.startswith("main ") and "warn" in line for line in text(errors).splitlines())


def test_every_finding_of_all_releases_says_all_of_it(say: Say) -> None:
    said = say("check", "--all", "--json")

    document = said.document
    assert said.status == 0
    assert document["ok"] is True
    assert document["command"] == "check"
    assert len(document["releases"]) == len(release_names())
    assert document["findings"]
    for finding in document["findings"]:
        assert set(finding) >= FIELDS | {"release"}
        for key in ("rule", "severity", "target", "message", "why", "source", "fix", "path"):
            assert finding[key], key


def test_an_error_ends_with_1_and_a_waived_one_does_not(say: Say) -> None:
    assert say("check", "--release", "main", "-q").status == 0
    assert say("check", "--release", "0.25.2", "--set", "onnxruntime=1.23.2", "-q").status == 1


def test_the_document_tells_what_was_changed(say: Say) -> None:
    said = say(
        "check", "--release", "0.25.2", "--target", "linux-x64-cuda", "--json",
        "--set", "onnxruntime=pypi:1.27.0", "--set", "core=0.17.0",
    )  # fmt: skip

    assert said.document["set"] == {"onnxruntime": "pypi:1.27.0", "core": "0.17.0"}
    assert said.document["ok"] is False
    assert said.document["releases"] == [{"name": "0.25.2", "targets": ["linux-x64-cuda"]}]
    assert {each["target"] for each in said.document["findings"]} == {"linux-x64-cuda"}


def test_least_severity_leaves_out_of_the_document(say: Say) -> None:
    said = say("check", "--release", "0.25.2", "--json", "--min-severity", "error")

    assert said.document["findings"] == []
    assert said.status == 0


def test_upstreams_names_of_targets_are_taken(say: Say) -> None:
    said = say("check", "-r", "0.25.2", "-t", "windows-nvidia", "-t", "win-x64-cuda", "--json")

    assert said.document["releases"][0]["targets"] == ["win-x64-cuda"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--release", "0.25.2", "--all"], "exclude each other"),
        (["--release", "0.25.3"], "did you mean"),
        (["--release", "../releases/0.25.2"], "There is no release"),
        (["--release", "0.25.2", "--target", "win-x64-cdua"], "win-x64-cuda"),
        (["--release", "0.25.2", "--set", "onnxrutime=1"], "did you mean onnxruntime"),
        (["--release", "0.25.2", "--set", "cuda=12.8.1"], "provided by additional-libraries"),
        (["--release", "0.25.2", "--set", "core"], "Expected component=version"),
        (["--release", "0.25.2", "--min-severity", "bad"], "min-severity"),
    ],
)
def test_a_slip_ends_with_2_and_what_was_probably_meant(
    say: Say, words: list[str], told: str
) -> None:
    said = say("check", *words)

    assert said.status == 2
    assert told in said.err
    assert said.out == ""
    assert "Traceback" not in said.err


def test_b065_a_target_that_is_no_official_one(say: Say) -> None:
    """The combination was never published; the answer names those that were."""
    said = say("check", "--release", "0.25.2", "--target", "linux-arm64-cuda")

    assert said.status in (1, 2)
    answer = said.out + said.err
    assert "linux-arm64-cpu" in answer
    assert "linux-x64-cuda" in answer


def test_paths_are_as_short_as_where_one_stands(
    say: Say, monkeypatch: pytest.MonkeyPatch, manifest: Callable[..., Path]
) -> None:
    monkeypatch.chdir(ROOT)

    said = say("check", "--release", "main", "--json")

    assert {each["path"].rpartition(":")[0] for each in said.document["findings"]} == {
        "manifests/releases/main.toml"
    }
