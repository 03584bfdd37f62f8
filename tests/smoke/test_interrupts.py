import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import vvbuild
from vvbuild.smoke.interrupts import deferred_interrupts

ROOT = Path(vvbuild.__file__).parent.parent


def test_an_interrupt_waits_for_the_end_of_the_block():
    done = []

    def work():
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_outdoes_the_blocks_own_error():
    def work():
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            raise ValueError

    with pytest.raises(KeyboardInterrupt):
        work()


def test_without_an_interrupt_nothing_changes():
    before = signal.getsignal(signal.SIGTERM)
    with deferred_interrupts():
        pass
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_ignored_signal_stays_ignored():
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, old)


def test_a_child_born_in_the_block_can_be_interrupted():
    code = "import signal; print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)"
    with deferred_interrupts():
        output = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert output.stdout.strip() == b"True"


def test_other_threads_are_left_alone():
    handlers = []

    def work():
        with deferred_interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]


@pytest.fixture
def command(tmp_path):
    """Start the program itself, with temporary files in a place of their own."""
    started = []
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    def start(bundle, *options):
        process = subprocess.Popen(
            [sys.executable, "-m", "vvbuild", "smoke", str(bundle.path), "--json", *options],
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        return process

    start.temporary = temporary
    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_until(condition, process):
    while not condition():
        assert process.poll() is None
        threading.Event().wait(0.01)


@pytest.mark.parametrize(
    ("number", "behaviour", "moment"),
    [
        (signal.SIGINT, {"deaf": True}, "start"),
        (signal.SIGINT, {"faults": {"/synthesis": "hang"}}, "/synthesis"),
        (signal.SIGTERM, {"faults": {"/synthesis": "hang"}}, "/synthesis"),
        (signal.SIGINT, {"cancel": "works"}, "/cancellable_synthesis"),
        (signal.SIGINT, {"sigterm": "ignored"}, "end"),
    ],
)
def test_interrupted_at_any_moment_nothing_is_left(standin, command, number, behaviour, moment):
    bundle = standin(child="same group", **behaviour)
    process = command(bundle)
    if moment == "start":
        wait_until(lambda: (bundle.path / "child").exists(), process)
    elif moment == "end":
        # Both texts, and both at once; then it is told to stop and does not.
        wait_until(lambda: bundle.seen().count("/synthesis") >= 4, process)
        threading.Event().wait(0.5)
    else:
        wait_until(lambda: moment in bundle.seen(), process)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b'"interrupted"' in output
    assert bundle.left_running() == []
    assert list(command.temporary.iterdir()) == []


def test_pressed_twice_it_still_clears_away(standin, command):
    bundle = standin(child="own session", faults={"/synthesis": "hang"})
    process = command(bundle)
    wait_until(lambda: "/synthesis" in bundle.seen(), process)
    for _ in range(5):
        process.send_signal(signal.SIGINT)
        threading.Event().wait(0.02)
    process.communicate(timeout=60)
    assert bundle.left_running() == []
    assert list(command.temporary.iterdir()) == []


def test_requests_side_by_side_do_not_hold_it_up(standin, command):
    # The third and fourth synthesis are the two at once.
    bundle = standin(mixes=True, hangs_from=3)
    process = command(bundle)
    wait_until(lambda: bundle.seen().count("/synthesis") == 4, process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert bundle.left_running() == []
