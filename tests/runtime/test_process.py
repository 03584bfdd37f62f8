from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from vvbuild.errors import CancelledError, ExternalError, FreezeError, HostToolMissingError
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.process import clean_environment, end_group, run, start

# Far longer than any test lasts.
LONG = "86399"


def sh(script: str, **options: object):
    return run(["/bin/sh", "-c", script], **{"cancel": Cancel(), **options})


def python(script: str, **options: object):
    return run([sys.executable, "-c", script], **{"cancel": Cancel(), **options})


def alive(mark: str) -> list[int]:
    """Processes that have ``mark`` in their command line and are no zombies."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline", "status"])
        if mark in " ".join(process.info["cmdline"] or ())
        and process.info["status"] != psutil.STATUS_ZOMBIE
        and process.pid != os.getpid()
    ]


def wait_until(condition, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


@pytest.fixture
def mark(tmp_path: Path) -> str:
    """A word that only this test's processes carry."""
    return f"mark-{tmp_path.name}-{os.getpid()}"


# Results


def test_what_a_child_wrote_is_returned_in_order() -> None:
    assert sh("echo one; echo two >&2; echo three").output == "one\ntwo\nthree"


def test_lines_are_heard_while_the_child_runs() -> None:
    heard = []
    sh("echo one; echo; echo two", on_line=heard.append)

    assert heard == ["one", "", "two"]


def test_a_failure_tells_command_status_and_last_lines() -> None:
    with pytest.raises(ExternalError) as caught:
        sh("for i in $(seq 100); do echo line $i; done; exit 3")

    error = caught.value
    assert error.exit_status == 7
    assert error.message == "sh ended with 3."
    assert error.context["command"].startswith("/bin/sh -c ")
    assert error.context["last lines"].splitlines() == [f"line {n}" for n in range(61, 101)]


def test_a_failure_can_have_a_name_of_its_own() -> None:
    with pytest.raises(FreezeError) as caught:
        sh("exit 1", error=FreezeError)

    assert caught.value.code == "freeze-failed"


def test_a_child_that_was_killed_is_a_failure() -> None:
    with pytest.raises(ExternalError, match="ended with -9"):
        sh("kill -9 $$")


def test_the_command_is_shown_so_that_it_can_be_typed() -> None:
    with pytest.raises(ExternalError) as caught:
        sh("exit 1 # it's")

    assert shlex.split(caught.value.context["command"]) == ["/bin/sh", "-c", "exit 1 # it's"]


def test_a_missing_program_is_named() -> None:
    with pytest.raises(HostToolMissingError, match="Could not start no-such-program") as caught:
        run(["no-such-program"], cancel=Cancel())

    assert caught.value.exit_status == 5


def test_bytes_that_are_no_text_do_no_harm() -> None:
    result = python("import sys; sys.stdout.buffer.write(bytes(range(256)) * 100)")

    assert "�" in result.output
    assert len(result.output) > 10_000


def test_endless_output_is_bounded(tmp_path: Path) -> None:
    script = "import sys\nfor n in range(1500): sys.stdout.write('x' * 20_000 + '%d\\n' % n)"
    output = python(script).output

    assert len(output) <= 8 << 20
    assert output.endswith("x1499")


def test_a_line_without_end_is_bounded() -> None:
    heard = []
    output = python("import sys; sys.stdout.write('x' * 30_000_000)", on_line=heard.append).output

    assert len(output) <= 8 << 20
    assert max(map(len, heard)) <= 1 << 16
    assert sum(map(len, heard)) == 30_000_000


def test_what_a_listener_raises_is_raised_and_ends_the_child(mark: str) -> None:
    def fail(line: str) -> None:
        raise RuntimeError(line)

    with pytest.raises(RuntimeError, match="hello"):
        sh(f"echo hello; sleep {LONG} # {mark}", on_line=fail)
    assert alive(mark) == []


# Surroundings


def test_a_child_knows_little_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        "GITHUB_TOKEN": "secret", "AWS_SECRET_ACCESS_KEY": "secret", "LD_LIBRARY_PATH": "/x",
        "LD_PRELOAD": "/x.so", "PYTHONPATH": "/x", "PYTHONHOME": "/x", "PYTHONSTARTUP": "/x",
        "CUDA_PATH": "/x", "LANG": "ja_JP.eucJP", "LC_ALL": "C", "TZ": "Asia/Tokyo",
        "PYTHONHASHSEED": "9", "SOURCE_DATE_EPOCH": "1", "VVBUILD_TARGET": "x", "DISPLAY": ":0",
    }  # fmt: skip
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    output = run(["/usr/bin/env"], cancel=Cancel(), environment={"OWN": "1"}).output
    child = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)

    assert child == clean_environment({"OWN": "1"})
    assert "secret" not in output
    assert set(secrets) & set(child) == {"LC_ALL", "TZ", "PYTHONHASHSEED"}
    assert (child["LC_ALL"], child["TZ"], child["PYTHONHASHSEED"]) == ("C.UTF-8", "UTC", "0")


def test_a_child_reads_nothing_from_us() -> None:
    assert python("import sys; print(repr(sys.stdin.read()))").output == "''"


def test_a_child_works_where_it_is_told_to(tmp_path: Path) -> None:
    assert sh("pwd -P", cwd=tmp_path).output == str(tmp_path.resolve())


# Ends


def family(mark: str) -> str:
    """A child with children and grandchildren, some of which do not want to end."""
    return (
        f"trap '' TERM; (trap '' TERM; sleep {LONG} & sleep {LONG}; echo {mark}) & "
        f"/bin/sh -c 'sleep {LONG}; echo {mark}' & echo ready; wait; echo {mark}"
    )


def test_cancelling_ends_the_whole_family(mark: str) -> None:
    cancel, ready = Cancel(), threading.Event()
    caught: list[BaseException] = []

    def work() -> None:
        try:
            sh(family(mark), cancel=cancel, on_line=lambda line: ready.set())
        except CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert ready.wait(20)
    wait_until(lambda: len(alive(mark)) >= 3)
    cancel.set()
    thread.join(20)

    assert not thread.is_alive()
    assert len(caught) == 1
    wait_until(lambda: alive(mark) == [])


def test_a_child_that_takes_too_long_is_ended_with_its_family(mark: str) -> None:
    with pytest.raises(ExternalError, match="took longer than 1 s") as caught:
        sh(family(mark), timeout=1.0)

    assert caught.value.context["last lines"] == "ready"
    wait_until(lambda: alive(mark) == [])


def test_nothing_is_left_of_a_child_that_ended_well(mark: str) -> None:
    """It left a background process that holds its output open, as some programs' servers do."""
    result = sh(f"/bin/sh -c 'sleep {LONG}; echo {mark}' & echo done")

    assert result.output == "done"
    wait_until(lambda: alive(mark) == [])


def test_nobody_waits_for_a_grandchild_that_has_left_the_family(
    mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the output open; without it nothing would ever end."""
    monkeypatch.setattr("vvbuild.runtime.process._DRAIN_SECONDS", 0.2)
    script = (
        "import os, subprocess\n"
        f"command = ['/bin/sh', '-c', 'sleep {LONG}; echo {mark}']\n"
        "subprocess.Popen(command, start_new_session=True)\n"
        "print('done', flush=True)"
    )
    try:
        assert python(script).output == "done"
    finally:
        for pid in alive(mark):
            os.killpg(os.getpgid(pid), signal.SIGKILL)


def test_a_flag_that_is_set_already_ends_the_child_at_once() -> None:
    cancel = Cancel()
    cancel.set()

    with pytest.raises(CancelledError):
        sh(f"sleep {LONG}", cancel=cancel)


def test_a_child_may_end_politely_before_it_is_forced(tmp_path: Path) -> None:
    script = (
        f"trap 'echo bye > {tmp_path}/bye; exit' TERM; echo ready; while :; do sleep 0.01; done"
    )
    process = start(["/bin/sh", "-c", script], environment=clean_environment())
    assert process.stdout.readline() == b"ready\n"
    end_group(process, grace=20)
    process.stdout.close()

    assert (tmp_path / "bye").read_text() == "bye\n"
    assert process.returncode is not None


def test_children_do_not_hear_the_terminal() -> None:
    """Ctrl-C goes to us alone; who ends the children is decided here."""
    assert int(python("import os; print(os.getpgid(0))").output) != os.getpgid(0)
