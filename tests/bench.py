"""`nox -s bench`: speed as ratios against the real peer on the same work, in one run.

Usage: python tests/bench.py [--rounds N] [--bundle]
"""

from __future__ import annotations

import argparse
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import bench_bytes
import bench_closure
import bench_fetch

VVBUILD = [sys.executable, "-m", "vvbuild"]
# The same interpreter flags for both sides; the peer is what the command line is made of.
PEER = [sys.executable, "-c", "import typer, rich"]


def in_a_pipe(command: Sequence[str]) -> None:
    subprocess.run(command, capture_output=True, check=True)


def on_a_terminal(command: Sequence[str]) -> None:
    main, terminal = pty.openpty()
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal) as child:
        os.close(terminal)
        try:
            while os.read(main, 65536):
                pass
        except OSError:
            pass
        os.close(main)
        if child.wait() != 0:
            raise SystemExit(f"{command} ended with {child.returncode}")


def ratio(
    ours: Sequence[str], peer: Sequence[str], rounds: int, run: Callable[[Sequence[str]], None]
) -> tuple[float, float, float]:
    """Medians of alternating runs, so that a busy moment falls on both; and their ratio."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(2):
        run(ours)
        run(peer)
    for _ in range(rounds):
        for side, command in enumerate((ours, peer)):
            started = time.perf_counter()
            run(command)
            times[side].append(time.perf_counter() - started)
    mine, theirs = (statistics.median(each) for each in times)
    return mine, theirs, mine / theirs


def start_up(rounds: int) -> None:
    print(f"{'command':34} {'where':9} {'ours':>8} {'peer':>8} {'ratio':>6}   bar")
    for name, arguments in (("vvbuild --help", ["--help"]), ("vvbuild targets", ["targets"])):
        for where, run in (("pipe", in_a_pipe), ("terminal", on_a_terminal)):
            mine, theirs, factor = ratio([*VVBUILD, *arguments], PEER, rounds, run)
            bar = "at most 2.0" if arguments == ["--help"] else ""
            row = f"{name:34} {where:9} {mine * 1000:6.0f}ms {theirs * 1000:6.0f}ms {factor:6.2f}"
            print(f"{row}   {bar}")
    print("peer: python -c 'import typer, rich'\n")


CHECK = [*VVBUILD, "check", "--all", "-q"]
# Beside the packaged ones, which makes ten times as many.
COPIES = 9


def all_pins(rounds: int) -> None:
    """All releases for all targets by all rules, beside the start of the program alone."""
    mine, start, factor = ratio(CHECK, [*VVBUILD, "--help"], rounds, in_a_pipe)
    row = f"{'vvbuild check --all':34} {'pipe':9} {mine * 1000:6.0f}ms {start * 1000:6.0f}ms"
    print(f"{row} {factor:6.2f}   at most 3.0\npeer: vvbuild --help")
    with tempfile.TemporaryDirectory() as folder:
        releases = Path(__file__).resolve().parent.parent / "manifests" / "releases"
        names = [path.stem for path in releases.glob("[!_]*.toml")]
        many = len(names) * (1 + COPIES)
        _copy_releases(releases, Path(folder, "releases"), names)
        ten, _, _ = ratio(
            [*CHECK, "--manifests", folder], [*VVBUILD, "--help"], max(rounds // 3, 3), in_a_pipe
        )
    each, each_of_many = (mine - start) / len(names), (ten - start) / many
    print(
        f"one of {len(names)} releases: {each * 1000:.2f} ms, of {many}: "
        f"{each_of_many * 1000:.2f} ms, ratio {each_of_many / each:.2f}   "
        "bar: at most 1.2, as cost grows with the releases alone\n"
    )


def _copy_releases(releases: Path, folder: Path, names: list[str]) -> None:
    """The same releases under other names; what they extend stays where it is."""
    folder.mkdir()
    for name in names:
        text = (releases / f"{name}.toml").read_text(encoding="utf-8")
        for number in range(COPIES):
            copy = text.replace(f'name = "{name}"', f'name = "copy-{number}-{name}"', 1)
            (folder / f"copy-{number}-{name}.toml").write_text(copy, encoding="utf-8")


def repeated_bundle() -> None:
    """A second identical bundle does no step's work; the first one fills the store."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*VVBUILD, "bundle", "--target", "linux-x64-cpu", "--out", f"{folder}/out", "-q"]
        seconds = []
        for _ in range(4):
            started = time.perf_counter()
            subprocess.run(command, check=True)
            seconds.append(time.perf_counter() - started)
        again = statistics.median(seconds[1:])
        size = sum(path.stat().st_size for path in Path(folder, "out").iterdir())
    print(f"bundle, first run here              {seconds[0]:8.2f} s")
    print(f"bundle, repeated ({size >> 20} MiB of archives) {again:8.2f} s   bar: at most 2 s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--no-bundle", action="store_true", help="only what needs no network")
    chosen = parser.parse_args()
    start_up(chosen.rounds)
    all_pins(chosen.rounds)
    if not chosen.no_bundle:
        repeated_bundle()
        bench_bytes.bench(rounds=3)
        bench_closure.bench(rounds=3)
    bench_fetch.bench(rounds=3)


if __name__ == "__main__":
    main()
