"""On Windows, whoever a child has started ends with it, whatever became of their parents."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from vvbuild.runtime.process import end_group, start

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="Windows alone has jobs")

# A process without a console, whose parent ends at once.
ORPHAN = """
import subprocess, sys
sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
child = subprocess.Popen(sleeper, creationflags=subprocess.DETACHED_PROCESS)
open(sys.argv[1], "w").write(str(child.pid))
"""


def is_running(pid: int) -> bool:
    import ctypes

    kernel = ctypes.WinDLL("kernel32")
    handle = kernel.OpenProcess(0x100000, False, pid)
    if not handle:
        return False
    waiting = kernel.WaitForSingleObject(handle, 0) != 0
    kernel.CloseHandle(handle)
    return waiting


def test_an_orphan_ends_with_the_job(tmp_path: Path) -> None:
    place = tmp_path / "pid"
    child = start([sys.executable, "-c", ORPHAN, place], environment=dict(os.environ))
    child.wait(30)
    pid = int(place.read_text())
    assert is_running(pid)

    end_group(child, grace=0)

    for _ in range(500):
        if not is_running(pid):
            return
        time.sleep(0.01)
    pytest.fail("it still runs")
