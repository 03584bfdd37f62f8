"""`cache prune`: by last use, never below anybody's hands."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from tests.fetch.stores import keep, key, read, spread, stored
from tests.forks import run_program
from vvbuild.errors import UsageError
from vvbuild.fetch.housekeeping import clean, measure
from vvbuild.fetch.store import Store
from vvbuild.fetch.store.prune import Pruned, parse_size, prune
from vvbuild.fetch.store.verify import verify_store
from vvbuild.model.digest import Digest
from vvbuild.model.tree import Tree

PROGRAM = Path(__file__).parent / "store_programs.py"
ROOT = Path(__file__).resolve().parent.parent.parent
DAY = 86400.0
SIZE = 100_000


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    store.prepare()
    return store


def members(number: int) -> dict[str, object]:
    return {"own": bytes([number]) * SIZE, "shared": b"shared" * 1000}


def age(store: Store, tree: Tree, days: float) -> None:
    when = time.time() - days * DAY
    os.utime(store.sharded("trees", tree.digest), (when, when))


@pytest.fixture
def trees(store: Store) -> list[Tree]:
    """Three trees with a file that all share, last used 1, 10 and 40 days ago."""
    made = [keep(store, number, members(number)) for number in range(3)]
    for tree, days in zip(made, (1, 10, 40), strict=True):
        age(store, tree, days)
    return made


def names(pruned: Pruned) -> set[str]:
    return {unit.name for unit in pruned.units}


def kept(store: Store, trees: list[Tree]) -> list[bool]:
    return [store.sharded("trees", tree.digest).is_file() for tree in trees]


def test_what_was_not_used_for_long_goes_and_nothing_else(store: Store, trees: list[Tree]) -> None:
    before = measure(store).size
    result = prune(store, older_than=timedelta(days=30))

    assert names(result) == {trees[2].digest.hex}
    assert [unit.steps for unit in result.units] == [("step 2",)]
    assert kept(store, trees) == [True, True, False]
    assert result.freed == SIZE
    assert before - measure(store).size >= SIZE
    assert store.record(key(2)) is None
    assert not (store.base / "checkouts" / trees[2].digest.hex).exists()
    assert stored(store, b"shared" * 1000).is_file()
    assert verify_store(store).faults == ()
    for number, tree in enumerate(trees[:2]):
        assert read(store.checkout(tree)) == members(number)


def test_the_least_lately_used_goes_until_the_rest_is_small_enough(
    store: Store, trees: list[Tree]
) -> None:
    for less, left in ((0, [True] * 3), (1, [True, True, False]), (1, [True, False, False])):
        limit = measure(store).size - less
        assert prune(store, max_size=limit).size <= limit
        assert measure(store).size <= limit
        assert kept(store, trees) == left
    prune(store, max_size=0)
    assert kept(store, trees) == [False] * 3
    assert not stored(store, b"shared" * 1000).exists()
    assert verify_store(store).faults == ()


def test_a_use_keeps_it(store: Store, trees: list[Tree]) -> None:
    assert store.load_tree(trees[2].digest) is not None

    assert names(prune(store, older_than=timedelta(days=30))) == set()
    assert names(prune(store, older_than=timedelta(days=5))) == {trees[1].digest.hex}


def test_a_dry_run_says_the_same_and_changes_nothing(store: Store, trees: list[Tree]) -> None:
    before = sorted(store.root.rglob("*"))
    dry = prune(store, older_than=timedelta(days=5), dry_run=True)
    assert sorted(store.root.rglob("*")) == before

    wet = prune(store, older_than=timedelta(days=5))

    assert (dry.units, dry.freed, dry.size) == (wet.units, wet.freed, wet.size)
    assert (dry.dry_run, wet.dry_run) == (True, False)
    assert kept(store, trees) == [True, False, False]


def test_a_lone_file_goes_by_its_own_last_use(store: Store, tmp_path: Path) -> None:
    digests = [Digest.of_bytes(data) for data in (b"old", b"used", b"fresh")]
    source = spread(tmp_path / "x", {"0": b"old", "1": b"used", "2": b"fresh"})
    for number, digest in enumerate(digests):
        store.add_file(source / str(number), digest)
    assert store.has_file(digests[0]) and store.has_file(digests[1])  # noqa: PT018
    old = time.time() - 40 * DAY
    stamps = [store.base / "seen" / digest.hex[:2] / digest.hex for digest in digests]
    os.utime(stamps[0], (old, old))
    os.utime(stamps[1], (old, old))
    assert store.has_file(digests[1])

    result = prune(store, older_than=timedelta(days=30))

    assert names(result) == {digests[0].hex}
    assert [store.file_path(digest).exists() for digest in digests] == [False, True, True]
    assert not stamps[0].exists()
    # The last one was never asked for: then it counts from when it came.
    later = time.time() + 40 * DAY
    assert digests[2].hex in names(prune(store, older_than=timedelta(days=30), now=later))


def test_a_file_of_a_kept_tree_stays_though_its_own_use_is_old(
    store: Store, trees: list[Tree]
) -> None:
    digest = Digest.of_bytes(b"shared" * 1000)
    assert store.has_file(digest)
    stamp = store.base / "seen" / digest.hex[:2] / digest.hex
    os.utime(stamp, (0, 0))

    assert prune(store, older_than=timedelta(days=60)).freed == 0
    assert store.load_tree(trees[0].digest) == trees[0]


def test_what_killed_processes_left_goes(store: Store, trees: list[Tree]) -> None:
    listed = store.sharded("trees", trees[0].digest)
    halves = [
        listed.with_name(".x.part"),
        store.sharded("records", key(0)).with_name(".y.part"),
        store.base / "seen" / listed.parent.name / ".z.part",
    ]
    for half in halves:
        half.parent.mkdir(exist_ok=True)
        half.write_bytes(b"half")
    (store.base / "checkouts" / ("0" * 64)).mkdir()
    (store.base / "locks/step-x.lock").write_bytes(b"")
    store.write_record(key(9), {"tree": "0" * 64})

    prune(store, older_than=timedelta(days=90))

    assert not any(half.exists() for half in halves)
    assert not (store.base / "checkouts" / ("0" * 64)).exists()
    assert [path.name for path in (store.base / "locks").iterdir()] == ["gate.lock"]
    assert store.record(key(9)) is None
    assert kept(store, trees) == [True] * 3


def test_old_unfinished_downloads_go(store: Store) -> None:
    partial = store.base / "partial"
    partial.mkdir()
    for name, days in (("old", 40), ("new", 1)):
        for suffix in (".part", ".map"):
            path = partial / f"{name}{suffix}"
            path.write_bytes(b"x" * 10)
            when = time.time() - days * DAY
            os.utime(path, (when, when))

    result = prune(store, older_than=timedelta(days=30))

    assert (names(result), result.freed) == ({"old.part"}, 10)
    assert sorted(path.name for path in partial.iterdir()) == ["new.map", "new.part"]


def test_a_damaged_list_goes_at_once(store: Store, trees: list[Tree]) -> None:
    store.sharded("trees", trees[0].digest).write_bytes(b"[")

    assert names(prune(store, older_than=timedelta(days=300))) == {trees[0].digest.hex}
    assert verify_store(store).faults == ()


@pytest.mark.parametrize("year", [1980, 2107])
def test_a_clock_gone_wrong_deletes_only_what_can_be_made_again(
    year: int, store: Store, trees: list[Tree]
) -> None:
    now = float((year - 1970) * 31_557_600)
    result = prune(store, older_than=timedelta(days=30), now=now)

    # In 1980 nothing is old yet, and in 2107 everything.
    assert kept(store, trees) == [year == 1980] * 3
    assert len(result.units) == (0 if year == 1980 else 3)
    assert verify_store(store).faults == ()
    assert read(store.checkout(keep(store, 0, members(0)))) == members(0)


# Others


@contextmanager
def another_process(store: Store, what: str = "hold") -> Iterator[subprocess.Popen[str]]:
    """A process that works with the store until it is told to end."""
    process = subprocess.Popen(
        [sys.executable, PROGRAM, what, store.root], env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


def test_nothing_is_deleted_while_another_process_uses_the_store(
    store: Store, trees: list[Tree]
) -> None:
    with another_process(store):
        assert measure(store).users == 1
        for delete in (lambda: prune(store, max_size=0), lambda: clean(store)):
            with pytest.raises(UsageError, match="Another vvbuild is working"):
                delete()
        assert prune(store, max_size=0, dry_run=True).size < SIZE
        assert kept(store, trees) == [True] * 3

    assert measure(store).users == 0
    prune(store, max_size=0)
    assert kept(store, trees) == [False] * 3


def test_a_process_that_was_killed_hinders_nobody(store: Store, trees: list[Tree]) -> None:
    with another_process(store) as process:
        process.kill()
        process.wait(30)
        prune(store, max_size=0)

    assert kept(store, trees) == [False] * 3


def test_scratch_in_this_process_hinders_too(store: Store, trees: list[Tree]) -> None:
    with store.scratch(), pytest.raises(UsageError, match="Another vvbuild is working"):
        prune(store, max_size=0)
    assert kept(store, trees) == [True] * 3


def test_what_is_no_store_is_not_pruned(tmp_path: Path) -> None:
    assert prune(Store(tmp_path / "nowhere"), max_size=0).units == ()
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "v1/files/ab").mkdir(parents=True)
    (tmp_path / "v1/files/ab/thesis").write_text("mine")

    with pytest.raises(UsageError, match="nothing was deleted"):
        prune(Store(tmp_path), max_size=0)
    assert (tmp_path / "v1/files/ab/thesis").read_text() == "mine"


def test_a_killed_pruning_leaves_nothing_dangling_and_nothing_wrong(tmp_path: Path) -> None:
    root = tmp_path / "store"
    caught, least, most = map(int, run_program(PROGRAM, "prune", root, 1, 20).split())

    assert caught == 20
    # Some kills fell between the first deletion and the last, or this would say nothing.
    assert least < most
    store = Store(root)
    store.prepare()
    assert [fault for fault in verify_store(store).faults if fault.kind == "file"] == []


@pytest.mark.parametrize(
    ("text", "size"),
    [("20GB", 20 * 10**9), ("1.5 MB", 1_500_000), ("20GiB", 20 << 30), ("0", 0), ("7kB", 7000),
     ("1.234TB", 1_234_000_000_000), ("512", 512)],
)  # fmt: skip
def test_sizes_are_read_in_thousands_and_in_1024s(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "20G", "20gb", "-1GB", "1e3", "GB", "1.2345GB", "٣GB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected a size|not a whole number"):
        parse_size(text)
