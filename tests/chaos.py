"""`nox -s chaos`: kill the real build at random moments; the next run must end right.

Each trial starts from a store that holds only what was fetched, sends SIGKILL to the whole
process group at a random moment of the build, and runs again. The second run must give the
archives of an undisturbed one, and every file of the store must be what its name says.

Usage: python tests/chaos.py [--trials N] [--seed N]
"""

from __future__ import annotations

import argparse
import hashlib
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


def keep_only_fetched(store: Path) -> None:
    """Forget every step: what is left is files by digest and uv's cache."""
    for part in ("records", "trees", "checkouts", "work"):
        shutil.rmtree(store / "v1" / part, ignore_errors=True)


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
        keep_only_fetched(store)
        started = time.monotonic()
        if finish(store, room / "again") != expected:
            raise SystemExit("two undisturbed runs differ")
        seconds = time.monotonic() - started
        for trial in range(1, chosen.trials + 1):
            keep_only_fetched(store)
            out = room / f"out-{trial}"
            moment = dice.uniform(0.0, seconds)
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
                f"trial {trial:2}: killed after {moment:5.1f} s ({' '.join(last)}); same archives"
            )
            shutil.rmtree(out)
    print(f"{chosen.trials} passed, 0 failed")


if __name__ == "__main__":
    main()
