"""What processes do to one store: ``fetch ROOT PLAN`` or ``kill ROOT PLAN SEED KILLS``.

A plan is a JSON list of (name, URL, SHA-256, size).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import filelock  # noqa: F401 - imported late; children need not pay for it
import httpx  # noqa: F401

from tests.forks import kill_child, lasting, moments, run_child
from vvbuild.fetch.lanes import PiecePolicy
from vvbuild.fetch.parallel import fetch_all
from vvbuild.fetch.session import Session
from vvbuild.fetch.store import Store
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize

PIECES = PiecePolicy(least=2 << 20, piece=1 << 20, most=4, enough=float("inf"))


def fetch(root: Path, plan: Path) -> None:
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
    store = Store(root)
    store.prepare()
    with Session(allow_local=True, pieces=PIECES) as session:
        fetch_all(artifacts, store, session=session)


def kill(root: Path, plan: Path, seed: int, kills: int) -> None:
    """Kill that many at random moments of a whole fetch; print how many left a partial file.

    On a busy machine the moments may all be too early or too late; then there are more of them.
    """
    once = lasting(lambda: fetch(root.with_name("first"), plan))
    moment, halves = moments(seed, once), 0
    for done in range(10 * kills):
        if done >= kills and halves >= 3:
            break
        kill_child(lambda: fetch(root, plan), moment())
        partial = root / "v1" / "partial"
        halves += partial.is_dir() and any(partial.glob("*.map"))
        forget_big_ones(root)
    assert run_child(lambda: fetch(root, plan)) == 0
    print(halves)


def forget_big_ones(root: Path) -> None:
    """Take away again what is complete, so that every kill meets work."""
    for path in (root / "v1" / "files").glob("??/*"):
        if path.stat().st_size > 1 << 20:
            path.unlink()


if __name__ == "__main__":
    program, root, plan = sys.argv[1:4]
    {"fetch": fetch, "kill": kill}[program](Path(root), Path(plan), *map(int, sys.argv[4:]))
