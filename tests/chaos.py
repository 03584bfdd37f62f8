"""`nox -s chaos`: kill the real build at random moments; the next run must end right.

Each trial forgets the steps of a build from a random one on, starts it, sends SIGKILL to the
whole process group at a random moment of what is left to do, and runs again. The second run must
give the archives of an undisturbed one, and every file of the store must be what its name says.

Usage: python tests/chaos.py [--trials N] [--seed N]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUNDLE = [sys.executable, "-m", "vvbuild", "bundle", "--target", "linux-x64-cpu"]


def start(store: Path, out: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"VVBUILD_CACHE_DIR": str(store)}
    with (out.parent / "log").open("ab") as log:
        return subprocess.Popen(
            [*BUNDLE, "--out", out],
            env=environment,
            start_new_session=True,
            stdout=log,
            stderr=log,
        )


def finish(store: Path, out: Path) -> str:
    with start(store, out) as child:
        if child.wait(1200) != 0:
            raise SystemExit(f"a run failed; see {out.parent / 'log'}")
    return (out / "SHA256SUMS").read_text()


def steps_by_time(store: Path) -> list[tuple[Path, float]]:
    """The records of a finished build in the order in which they were written, with seconds."""
    records = sorted(
        (store / "v1" / "records").rglob("*.json"), key=lambda path: path.stat().st_mtime_ns
    )
    return [(path, json.loads(path.read_bytes())["seconds"]) for path in records]


def forget_from(store: Path, first: int) -> tuple[str, float]:
    """Forget the steps from the ``first`` on; tells where, and how long they took."""
    steps = steps_by_time(store)[first:]
    name = json.loads(steps[0][0].read_bytes())["step"]
    for path, _ in steps:
        path.unlink()
    for part in ("checkouts", "work"):
        shutil.rmtree(store / "v1" / part, ignore_errors=True)
    return name, sum(seconds for _, seconds in steps)


def wrong_files(store: Path) -> list[Path]:
    return [
        path
        for path in (store / "v1" / "files").rglob("*")
        if path.is_file()
        and hashlib.sha256(path.read_bytes()).hexdigest() != path.name.removesuffix(".x")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None)
    chosen = parser.parse_args()
    seed = chosen.seed if chosen.seed is not None else random.SystemRandom().randrange(1 << 30)
    dice = random.Random(seed)
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="vvbuild-chaos-") as folder:
        room = Path(folder)
        store = room / "store"
        expected = finish(store, room / "out")
        for trial in range(1, chosen.trials + 1):
            forgotten, seconds = forget_from(store, dice.randrange(len(steps_by_time(store))))
            out = room / f"out-{trial}"
            moment = dice.uniform(0.3, max(1.0, seconds))
            child = start(store, out)
            time.sleep(moment)
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            last = (room / "log").read_text(errors="replace").splitlines()[-1:]
            found = finish(store, out)
            wrong = wrong_files(store)
            if found != expected or wrong:
                raise SystemExit(f"trial {trial}, killed after {moment:.1f} s: {wrong or found}")
            print(
                f"trial {trial:2}: forgot {forgotten!r} and all after it, killed after "
                f"{moment:4.1f} s at {' '.join(last)!r}; same archives",
                flush=True,
            )
            shutil.rmtree(out)
    print(f"{chosen.trials} passed, 0 failed")


if __name__ == "__main__":
    main()
