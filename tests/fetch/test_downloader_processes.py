"""However a run of the core's downloader ends, nothing of it is left running."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.server.github import LoopbackGitHub
from tests.standins.scene import Scene
from vvbuild.errors import CancelledError, DiskFullError, DownloaderError
from vvbuild.fetch.downloader import Limits
from vvbuild.runtime.cancel import Cancel

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and groups of Unix")

ROOT = Path(__file__).resolve().parents[2]
# It starts a child of its own, hears no polite word, and waits.
STUBBORN = """
import signal, subprocess, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "600"])
with open({place!r} + ".new", "w") as stream:
    stream.write(f"{{os.getpid()}} {{child.pid}}")
os.rename({place!r} + ".new", {place!r})
time.sleep(600)
"""
INTERRUPTED = """
import signal, sys
from pathlib import Path
from vvbuild.errors import VvbuildError
from vvbuild.fetch.downloader import DownloadRequest, Program, WantedPart, run_downloader
from vvbuild.manifest.downloader import core_words, find_contract
from vvbuild.model.locked import Member
from vvbuild.model.target import Target
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file

cancel = Cancel()
signal.signal(signal.SIGINT, lambda *_: cancel.set())
path, work = map(Path, sys.argv[1:])
part = WantedPart("0.17.0", {"VERSION": Member(sha256="0" * 64, size=1)})
target = Target.parse("linux-x64-cpu")
request = DownloadRequest(target, core_words(target), {"core": part})
try:
    program = Program(path, find_contract("0.17.0"), hash_file(path))
    run_downloader(program, request, work, cancel=cancel)
except VvbuildError as error:
    sys.exit(error.exit_status)
"""


@pytest.fixture
def scene(github: LoopbackGitHub, tmp_path: Path) -> Scene:
    return Scene(github, tmp_path)


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended; one that nobody reaped has."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        if sys.platform == "linux":
            return False
        found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True)
        state = found.stdout.decode().strip() or "Z"
    return not state.startswith(("Z", "X"))


def pids_in(place: Path) -> list[int]:
    for _ in range(3000):
        if place.exists():
            break
        time.sleep(0.01)
    return [int(word) for word in place.read_text().split()]


def gone(pids: list[int]) -> bool:
    """Whether all are gone; the kernel may take a moment."""
    for _ in range(500):
        if not any(map(is_running, pids)):
            return True
        time.sleep(0.01)
    return False


def test_an_interruption_ends_the_whole_group(scene: Scene, tmp_path: Path) -> None:
    place = tmp_path / "pids"
    program = scene.program(STUBBORN.format(place=str(place)))

    def interrupt() -> None:
        pids_in(place)
        scene.cancel.set()

    threading.Thread(target=interrupt).start()
    with pytest.raises(CancelledError):
        scene.run("core", program=program)

    assert gone(pids_in(place))
    assert scene.count == 1


def test_a_ctrl_c_ends_the_whole_group(scene: Scene, tmp_path: Path) -> None:
    place = tmp_path / "pids"
    program = scene.program(STUBBORN.format(place=str(place)))
    command = [sys.executable, "-c", INTERRUPTED, program.path, scene.work]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as ours:
        pids = pids_in(place)
        ours.send_signal(signal.SIGINT)

        assert ours.wait(30) == 130

    assert gone(pids)


def test_a_timeout_ends_the_whole_group(scene: Scene, tmp_path: Path) -> None:
    place = tmp_path / "pids"
    program = scene.program(STUBBORN.format(place=str(place)))

    with pytest.raises(DownloaderError, match="too long"):
        scene.run("core", program=program, limits=Limits(seconds=2, waits=()))

    assert gone(pids_in(place))


@pytest.mark.parametrize("streams", ["", ", stderr=subprocess.DEVNULL"])
def test_a_child_that_it_leaves_behind_is_ended(scene: Scene, tmp_path: Path, streams: str) -> None:
    place = tmp_path / "pids"
    program = scene.program(
        after="import subprocess\n"
        f"child = subprocess.Popen(['sleep', '600']{streams})\n"
        f"open({str(place)!r}, 'w').write(str(child.pid))"
    )

    delivered = scene.run("core", program=program)

    assert set(delivered) == {"core"}
    assert gone(pids_in(place))


def test_interruptions_at_any_moment_leave_nothing_and_the_next_run_is_right(
    github: LoopbackGitHub, tmp_path: Path
) -> None:
    scene = Scene(github, tmp_path)
    began = time.monotonic()
    wanted = {name: each.tree for name, each in scene.run().items()}
    whole = time.monotonic() - began
    for number in range(8):
        scene.cancel, scene.work = Cancel(), tmp_path / f"work-{number}"
        scene.work.mkdir()
        timer = threading.Timer(random.random() * whole, scene.cancel.set)
        timer.start()
        try:
            found = {name: each.tree for name, each in scene.run().items()}
        except CancelledError:
            assert not (scene.work / "run").exists()
        else:
            assert found == wanted
        timer.join()
    scene.cancel, scene.work = Cancel(), tmp_path / "last"
    scene.work.mkdir()

    assert {name: each.tree for name, each in scene.run().items()} == wanted


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None,
    reason="mounts a small disk",
)
def test_a_disk_that_is_full_is_named(scene: Scene) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=60k", "none", scene.work], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("may not mount")
    try:
        program = scene.program(
            "import pathlib\n"
            "where = sys.argv[sys.argv.index('--output') + 1]\n"
            "os.makedirs(where)\n"
            "open(where + '/bulk', 'wb').write(b'0' * 45_000)"
        )
        with pytest.raises(DiskFullError):
            scene.run("core", program=program)
    finally:
        subprocess.run(["umount", "-l", scene.work], check=True)
