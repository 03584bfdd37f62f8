"""What people and programs are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Said, alone, say
from tests.outdated.conftest import NOW, SDIST, days_ago, serve_pypi
from tests.outdated.test_run import ORT, Ask, Release, ask, indexes, row
from tests.server.http import LoopbackServer
from vvbuild import resources
from vvbuild.outdated.run import OutdatedResult
from vvbuild.report.document import View
from vvbuild.report.plain import display_width, render
from vvbuild.report.views.outdated import outdated_view

__all__ = ["alone", "ask", "indexes", "say"]

TOGETHER = """
[components.engine]
not_followed = "A release is one engine at one commit; a newer engine is another release."
[components.python]
not_followed = "A release is one engine at one commit; a newer engine is another release."
[[together]]
components = ["onnxruntime", "pyinstaller"]
why = "They are built for the same Python, and one that stays behind drags the other one back."
steps = ["onnxruntime: wheels for that Python.", "pyinstaller: a hook for that ONNX Runtime."]
"""


def shown(view: View) -> str:
    return render(view.blocks, 80)


def test_a_proposal_at_80_columns(
    indexes: LoopbackServer, release: Release, ask: Ask, tmp_path: Path,
    snapshot: SnapshotAssertion,
) -> None:  # fmt: skip
    view = outdated_view(ask(release(), more=TOGETHER), base=tmp_path)

    assert shown(view) == snapshot
    # The diff alone is as wide as the manifest.
    table = shown(view).partition("--- ")[0]
    assert all(display_width(line) <= 80 for line in table.splitlines())
    assert view.status == 0


def test_nothing_to_propose_at_80_columns(
    indexes: LoopbackServer, release: Release, ask: Ask, tmp_path: Path,
    snapshot: SnapshotAssertion,
) -> None:  # fmt: skip
    hold = '[components.pyinstaller]\nheld = { version = "<6.18", reason = "hooks" }\n'
    result = ask(release(), "pyinstaller", more=hold)

    assert shown(outdated_view(result, base=tmp_path)) == snapshot


def test_what_was_written_names_the_command_that_renews_the_lock(
    indexes: LoopbackServer, release: Release, ask: Ask, tmp_path: Path
) -> None:
    result = replace(ask(release(), write=True), heirs=("a", "b"))

    view = outdated_view(result, base=tmp_path)

    told = shown(view)
    assert "Wrote manifests/tiny.toml.\n" in told
    assert "out of date now: `vvbuild lock --release manifests/tiny.toml` renews it.\n" in told
    assert "a, b inherit from manifests/tiny.toml and move along.\n" in told
    assert told.endswith("tiny, 4 components: 2 moved\n")
    assert view.data["written"] == "manifests/tiny.toml"
    assert view.data["lock_stale"] is True


def test_the_lock_is_not_called_stale_where_no_file_changes(
    indexes: LoopbackServer, release: Release, ask: Ask, text: str, tmp_path: Path
) -> None:
    loaded = release(text[: text.index("[[artifacts]]")])
    more = (
        '[components.onnxruntime]\nfollows = "pypi:onnxruntime"\n'
        '[components.pyinstaller]\nfollows = "pypi:pyinstaller"\n'
    )

    view = outdated_view(ask(loaded, more=more, write=True), base=tmp_path)

    assert view.data["lock_stale"] is False
    assert "vvbuild lock" not in render(view.blocks, 80)


def test_a_source_without_an_answer_stands_out_and_the_others_count(
    server: LoopbackServer, release: Release, ask: Ask, tmp_path: Path
) -> None:
    serve_pypi(server, "onnxruntime", ORT)

    view = outdated_view(ask(release()), base=tmp_path)

    assert "NO ANSWER" in shown(view)
    assert shown(view).endswith("1 could move, 1 without an answer; --write edits the file\n")
    assert view.status == 0


def test_status_3_where_nobody_answered(
    server: LoopbackServer, release: Release, ask: Ask, tmp_path: Path
) -> None:
    view = outdated_view(ask(release()), base=tmp_path)

    assert view.status == 3
    assert view.data["error"]["exit"] == 3
    assert set(view.data["error"]["context"]) == {"onnxruntime", "pyinstaller"}


def test_the_document_for_programs(
    indexes: LoopbackServer, release: Release, ask: Ask, tmp_path: Path
) -> None:
    data = outdated_view(ask(release(), more=TOGETHER), base=tmp_path).data

    assert json.loads(json.dumps(data)) == data
    assert data["components"][1] == {
        "component": "onnxruntime", "pinned": "1.23.2", "allowed": "1.24.0", "newest": "1.25.0",
        "status": "outdated", "obstacle": "age", "reason": "Too young, until 2026-12-06.",
        "published_at": days_ago(60).isoformat(), "source": ["pypi:onnxruntime"], "notes": [],
    }  # fmt: skip
    assert data["diff"].startswith("--- a/manifests/tiny.toml\n+++ b/manifests/tiny.toml\n@@ ")
    assert data["checklist"][0]["members"][1] == {
        "component": "pyinstaller", "pinned": "6.17.0", "proposed": "6.22.3", "provided_by": None,
    }  # fmt: skip
    assert data["written"] is None
    assert all({"rule", "target", "new", "path"} <= set(each) for each in data["findings"])


def test_what_a_server_says_cannot_draw_on_the_terminal(
    indexes: LoopbackServer, release: Release, ask: Ask, tmp_path: Path
) -> None:
    result: OutdatedResult = ask(release(), "pyinstaller")
    hostile = replace(row(result, "pyinstaller"), reason="\x1b[31m\n::error::x", obstacle="files")

    told = shown(outdated_view(replace(result, rows=(hostile,)), base=tmp_path))

    assert "\x1b" not in told
    assert not any(line.startswith("::") for line in told.splitlines())


# The command


@pytest.fixture
def pypi(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> LoopbackServer:
    """The configured index."""
    old = {version: NOW.replace(year=2020) for version in ("6.22.3", "6.99.0", "7.0.0")}
    serve_pypi(server, "pyinstaller", old, SDIST)
    monkeypatch.setenv("PIP_INDEX_URL", server.url("/simple/"))
    return server


def test_the_command_proposes_and_leaves_the_manifest_alone(
    pypi: LoopbackServer, say: Callable[..., Said]
) -> None:
    path = resources.manifests_dir() / "releases" / "sample.toml"
    before = path.read_bytes()

    said = say("outdated", "--release", "sample", "-c", "pyinstaller", "--json", "-q")

    assert said.status == 0
    (found,) = said.document["components"]
    assert (found["pinned"], found["allowed"], found["newest"]) == ("6.22.3", "6.99.0", "7.0.0")
    assert '+version = "6.99.0"\n' in said.document["diff"]
    assert path.read_bytes() == before


def test_the_command_ends_with_3_where_nobody_answers(say: Callable[..., Said]) -> None:
    said = say("outdated", "-c", "pyinstaller", "--offline", "--json", "-q")

    assert said.status == 3
    assert said.document["ok"] is False
    assert said.document["error"]["code"] == "network"


@pytest.mark.parametrize("age", ["7", "7 days", "", "-1d", "1m"])
def test_an_age_that_is_none_is_wrong_use(age: str, say: Callable[..., Said]) -> None:
    said = say("outdated", "--min-age", age)

    assert said.status == 2
    assert "expected an age such as 12h, 7d or 2w" in said.err


def test_a_component_that_is_none_is_wrong_use(say: Callable[..., Said]) -> None:
    said = say("outdated", "--component", "onxruntime", "-q")

    assert said.status == 2
    assert "did you mean onnxruntime?" in said.err


def test_the_command_writes_a_manifest_that_was_named_by_its_file(
    pypi: LoopbackServer, say: Callable[..., Said], tmp_path: Path, text: str
) -> None:
    path = tmp_path / "mine" / "tiny.toml"
    path.parent.mkdir()
    path.write_bytes(text.replace("6.17.0", "6.22.3").encode())

    said = say("outdated", "-r", str(path), "-c", "pyinstaller", "--write", "-q", "--json")

    assert said.status == 0
    assert said.document["written"].endswith("mine/tiny.toml")
    assert path.read_text() == text.replace("6.17.0", "6.99.0")
