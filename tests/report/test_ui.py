from __future__ import annotations

import json

import pytest

from vvbuild.cli.ui import Ui
from vvbuild.errors import LockError
from vvbuild.report.document import Line, View
from vvbuild.report.progress import PlainLines, Quiet


def test_a_result_for_programs_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    view = View({"targets": ["音"]}, (Line("for people"),))

    assert Ui("targets", how="json").show(view) == 0

    out, err = capsys.readouterr()
    assert err == ""
    assert out.isascii()
    assert out.count("\n") == 1
    assert json.loads(out) == {
        "schema": "vvbuild.output/1", "command": "targets", "ok": True, "targets": ["音"],
    }  # fmt: skip


def test_a_result_with_findings_is_not_ok(capsys: pytest.CaptureFixture[str]) -> None:
    assert Ui("verify", how="json").show(View({"findings": []}, status=1)) == 1

    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_a_failure_for_programs_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    error = LockError("no", context={"file": 1}, hint="lock it")

    assert Ui("cache info", how="json").show_error(error) == 4

    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out) == {
        "schema": "vvbuild.output/1",
        "command": "cache info",
        "ok": False,
        "error": {
            "code": "lock-invalid", "exit": 4, "message": "no", "context": {"file": "1"},
            "hint": "lock it",
        },
    }  # fmt: skip


def test_people_read_results_and_failures_in_different_places(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ui = Ui("x")
    ui.show(View({}, (Line("result"),)))
    ui.show_error(LockError("failure"))

    assert capsys.readouterr() == ("result\n", "error[lock-invalid]: failure\n")


def test_quiet_shows_only_failures(capsys: pytest.CaptureFixture[str]) -> None:
    ui = Ui("x", quiet=True)
    ui.show(View({}, (Line("good"),)))
    assert capsys.readouterr().out == ""

    ui.show(View({}, (Line("bad"),), status=1))
    assert capsys.readouterr().out == "bad\n"


def test_progress_goes_elsewhere_than_results(capsys: pytest.CaptureFixture[str]) -> None:
    from vvbuild.model.events import Note

    with Ui("x").listener() as listener:
        listener(Note("working"))

    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("] working\n")
    assert isinstance(Ui("x", how="json").listener(), PlainLines)
    assert isinstance(Ui("x", quiet=True).listener(), Quiet)
