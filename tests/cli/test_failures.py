"""How a command line ends when something else goes wrong."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Said, program
from tests.server.faults import Stall
from tests.server.http import LoopbackServer
from vvbuild.cli import app as frame
from vvbuild.cli.ui import Ui
from vvbuild.errors import error_classes
from vvbuild.manifest import targets
from vvbuild.manifest.targets import host_platform, official_targets
from vvbuild.report.views import listings

Say = Callable[..., Said]
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="what freezing on Linux needs")


@pytest.mark.parametrize("kind", list(error_classes())[1:], ids=lambda kind: kind.code)
def test_every_error_ends_with_its_own_status(kind: type, capsys) -> None:
    def work():
        raise kind("message", context={"a": 1}, hint="hint")

    assert frame.guarded(Ui("x", how="json"), work) == kind.exit_status

    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["exit"]) == (kind.code, kind.exit_status)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device", "/x"), 8, "disk-full"),
        (PermissionError(13, "Permission denied", "/x"), 8, "permission-denied"),
        (FileNotFoundError(2, "No such file or directory", "/x"), 8, "resources"),
        (ZeroDivisionError("division by zero"), 70, "internal"),
        (RecursionError(), 70, "internal"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"), 70, "internal"),
    ],
)
def test_whatever_else_is_raised_is_named(
    error: BaseException, status: int, code: str, capsys
) -> None:
    def work():
        raise error

    assert frame.guarded(Ui("x", how="json"), work) == status
    assert json.loads(capsys.readouterr().out)["error"]["code"] == code


def test_a_fault_of_our_own_is_one_error_and_no_raw_traceback(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: object):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(listings, "targets_view", fail)

    said = say("targets")
    assert said.status == 70
    assert said.out == ""
    assert said.err.startswith("error[internal]: ZeroDivisionError: division by zero\n")
    assert "Please report it" in said.err
    assert not any(line.startswith("Traceback") for line in said.err.splitlines())

    error = say("targets", "--json").document["error"]
    assert error["exit"] == 70
    assert "in fail" in error["context"]["traceback"]


# What this machine lacks


@pytest.mark.parametrize(
    "target", [str(each) for each in official_targets() if each.platform != host_platform()]
)
def test_a_target_for_another_machine_names_the_runner(target: str, say: Say) -> None:
    error = say("bundle", "-t", target, "--json").document["error"]

    runner = official_targets()[targets.find_target(target)].runner
    assert (error["code"], error["exit"]) == ("host-cannot-freeze", 5)
    assert error["context"]["CI runner that can"] == runner
    assert f"runs-on: {runner}" in error["hint"]
    assert list(Path.cwd().iterdir()) == []


def files_in(store: Path) -> list[Path]:
    return [path for path in (store / "v1/files").rglob("*") if path.is_file()]


@on_linux
@pytest.mark.parametrize("command", ["bundle", "plan"])
def test_a_missing_program_is_told_before_anything_is_fetched(command: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    target = f"{host_platform()}-cpu"
    done = program(
        command, "-t", target, "--json",
        env={"PATH": str(tmp_path / "empty"), "HTTPS_PROXY": "http://127.0.0.1:9"},
    )  # fmt: skip
    error = json.loads(done.stdout)["error"]

    assert done.returncode == 5
    assert error["code"] == "host-tool-missing"
    assert "objcopy" in error["message"]
    if shutil.which("apt-get"):
        assert "apt-get install -y binutils" in error["hint"]
    assert files_in(tmp_path / "store") == []
    assert list(Path.cwd().iterdir()) == []


@on_linux
def test_a_python_that_does_not_fit_is_told(tmp_path: Path, say: Say) -> None:
    said = say("bundle", "-t", f"{host_platform()}-cpu", "--python", "/bin/false", "--json")

    assert said.document["error"]["code"] == "python-missing"
    assert said.status == 5
    assert files_in(tmp_path / "store") == []


@on_linux
def test_a_store_that_is_none_is_wrong_use(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis").write_text("mine")
    monkeypatch.setenv("VVBUILD_CACHE_DIR", str(tmp_path / "home"))

    said = say("bundle", "-t", f"{host_platform()}-cpu")

    assert said.status == 2
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["thesis"]


def test_findings_of_severity_error_end_with_one(say: Say, tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()

    document = say("verify", str(tmp_path / "bundle"), "--json").document

    assert document["ok"] is False
    assert "program-missing" in [finding["rule"] for finding in document["findings"]]
    assert say("verify", str(tmp_path / "bundle")).status == 1


# Readers


def with_closed_output(*words: str) -> subprocess.CompletedProcess[str]:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return program(*words, capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)


@pytest.mark.parametrize("words", [["targets"], ["targets", "--json"], ["--help"], ["releases"]])
def test_a_reader_that_goes_away_is_no_failure(words: list[str]) -> None:
    done = with_closed_output(*words)

    assert done.stderr == ""
    assert done.returncode in (0, 1) if words == ["--help"] else done.returncode == 0


def test_findings_fail_even_if_nobody_reads_them(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()

    done = with_closed_output("verify", str(tmp_path / "bundle"))

    assert (done.returncode, done.stderr) == (1, "")


def test_a_terminal_without_our_letters_sees_escapes(tmp_path: Path) -> None:
    done = program(
        "cache", "info",
        env={"PYTHONIOENCODING": "ascii", "VVBUILD_CACHE_DIR": str(tmp_path / "音")},
    )  # fmt: skip

    assert done.returncode == 0
    assert "\\u97f3" in done.stdout


def on_a_terminal(*words: str, **environment: str) -> str:
    """What a command writes to a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "vvbuild", *words],
        stdin=theirs, stdout=theirs, stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "80",
             **environment},
    )  # fmt: skip
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 65536):
            written += chunk
    except OSError:
        # Linux says EIO where others say the end.
        pass
    os.close(ours)
    assert process.wait(30) == 0
    return written.decode()


COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7]m")


def test_colour_is_for_terminals_and_can_be_refused() -> None:
    assert COLOUR.search(on_a_terminal("cache", "clean"))
    assert not COLOUR.search(on_a_terminal("cache", "clean", NO_COLOR="1"))
    assert not COLOUR.search(on_a_terminal("cache", "clean", "--no-color"))
    assert "\x1b" not in on_a_terminal("cache", "clean", TERM="dumb")
    assert "\x1b" not in on_a_terminal("cache", "clean", "--format", "plain")
    assert "\x1b" not in program("cache", "clean").stdout


def test_a_table_fits_the_terminal() -> None:
    lines = re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal("targets")).splitlines()

    assert len(lines) == 9
    assert all(len(line) <= 80 for line in lines)


# Interruptions


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interruption_ends_with_130_and_no_traceback(
    number: signal.Signals, server: LoopbackServer, tmp_path: Path
) -> None:
    """While an index keeps us waiting for ever."""
    server.serve("/simple/pyinstaller/", b"", always=Stall(None))
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PIP_INDEX_URL": server.url("/simple/"),
        "npm_config_registry": server.url("/npm/"),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "vvbuild", "lock", "--check", "--release", "sample", "--json"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not server.asked("/simple/pyinstaller/"):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)

    assert process.returncode == 130
    assert json.loads(out)["error"]["code"] == "interrupted"
    assert "Traceback" not in err
