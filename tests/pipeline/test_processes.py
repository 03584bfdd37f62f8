"""Runs that meet others, run out of disk, or are killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forks import run_program

PROGRAM = Path(__file__).parent / "programs.py"
ROOT = Path(__file__).resolve().parent.parent.parent


def test_two_processes_do_one_step_once(tmp_path: Path) -> None:
    store, log = tmp_path / "store", tmp_path / "log"
    started = [
        subprocess.Popen(
            [sys.executable, PROGRAM, "count", store, log],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = sorted(process.communicate(timeout=60)[0].strip() for process in started)

    assert said == ["False", "True"]
    assert len(log.read_text().splitlines()) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_run_never_changes_what_the_next_one_makes(seed: int, tmp_path: Path) -> None:
    kills = 20
    found = json.loads(run_program(PROGRAM, "kill", tmp_path, seed, kills, timeout=280))

    assert found["wrong"] == []
    # Most died at work, and in several steps, or this test would say nothing.
    assert found["caught"] >= kills // 2
    assert len(set(found["seen"]) & {"write", "child", "copy", "total"}) >= 2


def test_a_file_that_may_not_grow_is_a_full_disk_and_the_next_run_carries_on(
    tmp_path: Path,
) -> None:
    store = tmp_path / "store"

    code, status, step, hint = json.loads(run_program(PROGRAM, "limited", store, 1500))

    assert (code, status, step) == ("disk-full", 8, "write")
    assert "VVBUILD_CACHE_DIR" in hint
    assert list((store / "v1/work").iterdir()) == []
    finished = json.loads(run_program(PROGRAM, "finish", store))
    assert finished == json.loads(run_program(PROGRAM, "finish", tmp_path / "other"))


def on_small_disk(place: Path, *commands: list[object]) -> list[object]:
    """Run commands one after the other with a disk of 3 MiB at ``place``, for them alone."""
    place.mkdir()
    lines = [f"mount -t tmpfs -o size=3m none {place}"]
    lines += [" ".join(map(str, command)) for command in commands]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", "\n".join(lines)],
        capture_output=True, text=True, timeout=60, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("this user may not mount a small disk")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare(1)")
def test_a_full_disk_is_told_and_the_next_run_carries_on(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    grow = [sys.executable, PROGRAM, "grow", place / "store"]

    full, carried_on, again = on_small_disk(
        place, [*grow, 8 << 20], [*grow, 1 << 20], [*grow, 1 << 20]
    )

    code, status, step, hint = full
    assert (code, status, step) == ("disk-full", 8, "big")
    assert hint.startswith("Free some space")
    assert carried_on == [["small", True], ["big", False]]
    assert again == [["small", True], ["big", True]]
