"""Fetching against curl, aria2 and a bare httpx loop, from nginx on loopback; hashing included.

Needs `apt-get install -y nginx-light curl aria2`; about 9 GB of disk for the full sizes.
Usage: python tests/bench_fetch.py [--rounds N] [--scale PART]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(__file__).with_name("bench_fetch_programs.py")
MB = 1_000_000
NGINX = """
daemon off; pid {base}/pid; error_log {base}/errors; worker_processes 1; user root;
events {{}}
http {{
  access_log off; sendfile on; sendfile_max_chunk 2m; tcp_nopush on; keepalive_requests 100000;
  client_body_temp_path {base}/t1; proxy_temp_path {base}/t2; fastcgi_temp_path {base}/t3;
  uwsgi_temp_path {base}/t4; scgi_temp_path {base}/t5;
  server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""


@dataclass(frozen=True)
class Work:
    """Files of one kind below the server's root."""

    name: str
    paths: tuple[str, ...]
    base: str

    @property
    def urls(self) -> list[str]:
        return [f"{self.base}/{path}" for path in self.paths]


@dataclass
class Run:
    """A program's times in seconds, the most memory it had in MB, and sha256sum's part of it."""

    seconds: list[float]
    memory: float = 0.0
    hashing: list[float] = field(default_factory=list)


def measured(command: list[str | Path], run: Run | None = None) -> float:
    """Run a program to its end; returns the wall time."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    began = time.perf_counter()
    child = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    if child.returncode:
        raise SystemExit(f"{command[0]} ended with {child.returncode}: {errors.decode()[-2000:]}")
    if run is not None:
        run.memory = max(run.memory, usage.ru_maxrss / 1024)
    return seconds


def sums(work: Work, out: Path, run: Run) -> float:
    names = (out / path.replace("/", "-") for path in work.paths)
    run.hashing.append(measured(["sha256sum", *names]))
    return run.hashing[-1]


def curl(work: Work, out: Path, run: Run) -> float:
    listed = out.with_suffix(".curl")
    rows = zip(work.urls, work.paths, strict=True)
    listed.write_text("".join(
        f'url = "{url}"\noutput = "{out}/{path.replace("/", "-")}"\n' for url, path in rows
    ))  # fmt: skip
    command = ["curl", "--silent", "--fail", "--parallel", "--parallel-max", "8", "-K", listed]
    return measured(command, run) + sums(work, out, run)


def aria2(work: Work, out: Path, run: Run) -> float:
    listed = out.with_suffix(".aria2")
    rows = zip(work.urls, work.paths, strict=True)
    listed.write_text("".join(
        f"{url}\n  out={path.replace('/', '-')}\n" for url, path in rows
    ))  # fmt: skip
    command = ["aria2c", "-q", "-j8", "-x8", "-s8", "-k16M", "--file-allocation=none"]
    return measured([*command, "-d", out, "-i", listed], run) + sums(work, out, run)


def bare(work: Work, out: Path, run: Run) -> float:
    plan = out.with_suffix(".plan")
    return measured([sys.executable, PROGRAM, "bare", plan, out], run)


def ours(work: Work, out: Path, run: Run) -> float:
    plan = out.with_suffix(".plan")
    return measured([sys.executable, PROGRAM, "ours", plan, out], run)


def single(work: Work, out: Path, run: Run) -> float:
    plan = out.with_suffix(".plan")
    return measured([sys.executable, PROGRAM, "single", plan, out], run)


Program = Callable[[Work, Path, Run], float]


def compare(work: Work, root: Path, programs: dict[str, Program], rounds: int) -> dict[str, Run]:
    """Alternate the programs, each into an empty directory."""
    plan = []
    for path, url in zip(work.paths, work.urls, strict=True):
        with (root / path).open("rb") as stream:
            digest = hashlib.sha256()
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
        plan.append((path.replace("/", "-"), url, digest.hexdigest(), (root / path).stat().st_size))
    runs = {name: Run([]) for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            out = root.parent / "out"
            out.mkdir()
            out.with_suffix(".plan").write_text(json.dumps(plan))
            runs[name].seconds.append(program(work, out, runs[name]))
            shutil.rmtree(out)
    return runs


def tell(work: Work, runs: dict[str, Run], peers: dict[str, str]) -> None:
    """Print medians, and our ratio to each peer with its bar."""
    mine = statistics.median(runs["ours"].seconds)
    for name, run in runs.items():
        seconds = statistics.median(run.seconds)
        row = f"{work.name:14} {name:8} {seconds:7.2f} s (least {min(run.seconds):.2f})"
        row += f" {run.memory:6.0f} MB"
        if run.hashing:
            row += f", {statistics.median(run.hashing):.2f} s of it sha256sum"
        print(row + (f"  ours/it {mine / seconds:5.2f}  {peers[name]}" if name in peers else ""))
    print(f"{work.name:14} memory   bar: ours below 150 MB\n", flush=True)


def fill(path: Path, size: int, number: int) -> None:
    """A file whose blocks differ from every other's."""
    path.parent.mkdir(exist_ok=True)
    block = os.urandom(min(size, 1 << 20))
    with path.open("wb") as stream:
        written = 0
        while written < size:
            part = number.to_bytes(4, "big") + written.to_bytes(8, "big") + block[12:]
            written += stream.write(part[: size - written])


@contextmanager
def nginx(root: Path) -> Iterator[str]:
    base = root.parent / "nginx"
    base.mkdir()
    port = free_port()
    (base / "conf").write_text(NGINX.format(base=base, root=root, port=port))
    server = subprocess.Popen(["nginx", "-c", base / "conf"], stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@contextmanager
def throttled(path: Path) -> Iterator[str]:
    """A server that gives each connection 20 MB/s, 50 ms after it was asked."""
    server = subprocess.Popen(
        [sys.executable, PROGRAM, "serve", path], stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(100):
        if answers(port):
            return
        time.sleep(0.05)
    raise SystemExit("nginx did not start")


def answers(port: int) -> bool:
    import socket

    try:
        socket.create_connection(("127.0.0.1", port), 0.2).close()
    except OSError:
        return False
    return True


def bench(rounds: int, scale: float = 1.0) -> None:
    missing = [name for name in ("nginx", "curl", "aria2c") if shutil.which(name) is None]
    if missing:
        print(f"fetch: skipped, without {', '.join(missing)}")
        return
    if scale != 1.0:
        print(f"All sizes and counts are {scale:g} of what the rows say; no bar holds for that.")
    with tempfile.TemporaryDirectory(prefix="vvbuild-bench-") as folder:
        root = Path(folder, "www")
        root.mkdir()
        with nginx(root) as url:
            against_peers(root, url, rounds, scale)
        big = root / "throttled"
        fill(big, int(320 * MB * scale), 99)
        with throttled(big) as url:
            work = Work("20 MB/s, 50 ms", ("throttled",), url)
            runs = compare(work, root, {"ours": ours, "single": single, "aria2": aria2}, 1)
            tell(work, runs, {"single": "bar: at most 0.33", "aria2": ""})


def against_peers(root: Path, url: str, rounds: int, scale: float) -> None:
    bar = "bar: at most 1.15 of the better"
    programs: dict[str, Program] = {"ours": ours, "curl": curl, "aria2": aria2}
    for name, count, size in (("1 x 2 GB", 1, 2000), ("8 x 256 MB", 8, 256)):
        paths = tuple(f"big{count}/{number}" for number in range(count))
        for number, path in enumerate(paths):
            fill(root / path, int(size * MB * scale), number)
        work = Work(name, paths, url)
        tell(work, compare(work, root, programs, rounds), {"curl": bar, "aria2": bar})
        shutil.rmtree(root / f"big{count}")
    count = max(8, int(2000 * scale))
    paths = tuple(f"small/{number}" for number in range(count))
    for number, path in enumerate(paths):
        fill(root / path, 20_000, number)
    work = Work(f"{count} x 20 KB", paths, url)
    runs = compare(work, root, {"ours": ours, "bare": bare, "curl": curl}, max(rounds, 7))
    tell(work, runs, {"bare": "bar: at most 1.3", "curl": ""})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="part of the full sizes")
    chosen = parser.parse_args()
    bench(chosen.rounds, chosen.scale)


if __name__ == "__main__":
    main()
