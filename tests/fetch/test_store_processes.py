"""The store under several processes, and under processes that are killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.fetch.store_programs import FILES, fill, make
from tests.forks import run_program
from vvbuild.fetch.store import Store, walk
from vvbuild.model.digest import Digest
from vvbuild.runtime.files import hash_file

PROGRAM = Path(__file__).parent / "store_programs.py"
ROOT = Path(__file__).resolve().parent.parent.parent


def contents(directory: Path) -> dict[str, object]:
    return {
        relative: str(path.readlink()) if kind == "link" else
        (kind, path.read_bytes()) if kind != "directory" else None
        for path, relative, kind in walk(directory)
    }  # fmt: skip


def check_everything(store: Store, expected: Path) -> int:
    """Hold all that the store would trust against what it must be; count the trees."""
    for path in (store.base / "files").glob("??/*"):
        assert hash_file(path).hex == path.name.removesuffix(".x"), path
        assert not path.stat().st_mode & 0o222
    trees = 0
    for path in (store.base / "trees").glob("??/*.json"):
        assert store.load_tree(Digest(path.stem)) is not None, path
        trees += 1
    for path in (store.base / "records").glob("??/*.json"):
        record = msgspec.json.decode(path.read_bytes())
        tree = store.load_tree(Digest(record["tree"]))
        assert tree is not None
        fresh = expected / str(record["number"])
        if not fresh.exists():
            fresh.mkdir(parents=True)
            fill(fresh, record["number"])
        assert contents(store.checkout(tree)) == contents(fresh)
    return trees


def test_processes_share_a_store_from_its_first_moment(tmp_path: Path) -> None:
    root = tmp_path / "store"
    command = [sys.executable, PROGRAM, "share", root]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors

    store = Store(root)
    assert check_everything(store, tmp_path / "expected") == 6
    assert list((store.base / "work").iterdir()) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_process_leaves_nothing_that_is_trusted_and_wrong(
    seed: int, tmp_path: Path
) -> None:
    root = tmp_path / "store"
    kills = 30

    caught, halves, left = map(int, run_program(PROGRAM, "kill", root, seed, kills).split())

    assert caught == kills
    # Some died in the middle of their work, or this test would say nothing.
    assert halves >= 5
    assert left == 0
    store = Store(root)
    assert check_everything(store, tmp_path / "expected") >= 1
    make(store, 0)
    assert len(list((store.base / "checkouts").iterdir())) >= 1
    assert FILES == 40


def test_who_works_and_who_deletes_take_turns(tmp_path: Path) -> None:
    root = tmp_path / "store"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen(
            [sys.executable, PROGRAM, what, root], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for what in ("come", "come", "clean")
    ]  # fmt: skip
    for worker in started[:2]:
        _, errors = worker.communicate(timeout=120)
        assert worker.returncode == 0, errors
    (tmp_path / "enough").write_bytes(b"")
    said, errors = started[2].communicate(timeout=120)

    assert started[2].returncode == 0, errors
    # It came to pass at least once, or nobody would have been in anybody's way.
    assert int(said) >= 1
