"""Kills forked children at random moments.

Programs of the tests import this; pytest itself is never forked, since it has threads.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path


def run_child(work: Callable[[], object]) -> int:
    """Fork, do ``work`` in the child, and return the child's wait status."""
    return _reap(_fork(work))


def kill_child(work: Callable[[], object], seconds: float) -> bool:
    """Fork, let ``work`` begin, and kill it; tells whether it was still at work."""
    pid = _fork(work)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    return os.WIFSIGNALED(_reap(pid))


def lasting(work: Callable[[], object]) -> float:
    """The seconds that ``work`` takes in a child."""
    started = time.monotonic()
    assert run_child(work) == 0
    return time.monotonic() - started


def moments(seed: int, longest: float) -> Callable[[], float]:
    """Random seconds, the same row for the same seed."""
    generator = random.Random(seed)
    return lambda: generator.uniform(0.0, longest)


def run_program(program: Path, *words: object, timeout: float = 120) -> str:
    """Run a program of the tests; returns what it printed."""
    root = str(Path(__file__).resolve().parent.parent)
    done = subprocess.run(
        [sys.executable, program, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=os.environ | {"PYTHONPATH": root},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _fork(work: Callable[[], object]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - a child must not go on as its parent
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def _reap(pid: int) -> int:
    return os.waitpid(pid, 0)[1]
