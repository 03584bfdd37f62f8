"""What the bench of fetching measures: ``ours|single|bare PLAN OUT`` or ``serve FILE``.

A plan is a JSON list of (name, URL, SHA-256, size).
"""

# The peer must not pay for pathlib.
# ruff: noqa: PTH101, PTH103, PTH105, PTH123
from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from pathlib import Path


def ours(plan: Path, out: Path, *, pieces: bool = True) -> None:
    """All files into a fresh store."""
    from vvbuild.fetch.lanes import PiecePolicy
    from vvbuild.fetch.parallel import fetch_all
    from vvbuild.fetch.session import Session
    from vvbuild.fetch.store import Store
    from vvbuild.model.artifact import Artifact
    from vvbuild.model.digest import Digest
    from vvbuild.model.reference import Reference
    from vvbuild.model.size import ByteSize

    artifacts = [
        Artifact(
            name,
            "core",
            "1.0",
            (Reference.parse(url, allow_local=True),),
            Digest(sha256),
            ByteSize(size),
        )
        for name, url, sha256, size in json.loads(plan.read_text())
    ]
    store = Store(out / "store")
    store.prepare()
    policy = PiecePolicy() if pieces else PiecePolicy(least=1 << 62)
    with Session(allow_local=True, pieces=policy) as session:
        fetch_all(artifacts, store, session=session)


def single(plan: Path, out: Path) -> None:
    """The same over one connection a file."""
    ours(plan, out, pieces=False)


def bare(plan: Path, out: Path) -> None:
    """The least that a program can do with httpx: 8 threads, a hash, and the same writes."""
    import httpx

    rows = iter(json.loads(plan.read_text()))
    lock = threading.Lock()

    def work(client: httpx.Client) -> None:
        while True:
            with lock:
                row = next(rows, None)
            if row is None:
                return
            name, url, sha256, _ = row
            part = f"{out}/{name}.part"
            digest = hashlib.sha256()
            with client.stream("GET", url) as response, open(part, "wb", buffering=0) as stream:
                for chunk in response.iter_raw():
                    stream.write(chunk)
                    digest.update(chunk)
            assert digest.hexdigest() == sha256
            # As a store has it: read-only, one fixed time, moved into one of 256 directories.
            os.chmod(part, 0o444)
            os.utime(part, (315_619_200, 315_619_200))
            os.makedirs(f"{out}/{sha256[:2]}", exist_ok=True)
            os.replace(part, f"{out}/{sha256[:2]}/{sha256}")

    with httpx.Client() as client:
        threads = [threading.Thread(target=work, args=(client,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def serve(path: Path) -> None:
    from tests.server.faults import Throttle
    from tests.server.http import LoopbackServer

    with LoopbackServer() as server:
        server.serve(f"/{path.name}", path, always=Throttle(20e6, 0.05))
        print(server.url("")[:-1] if server.url("").endswith("/") else server.url(""), flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    program, *words = sys.argv[1:]
    {"ours": ours, "single": single, "bare": bare, "serve": serve}[program](*map(Path, words))
