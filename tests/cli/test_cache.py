"""`vvbuild cache`, as it is typed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Said
from tests.fetch.stores import MEMBERS, keep, poison, stored
from vvbuild.fetch.store import Store, default_root

Say = Callable[..., Said]


@pytest.fixture
def store() -> Store:
    store = Store(default_root())
    store.prepare()
    tree = keep(store, 1, MEMBERS)
    old = time.time() - 40 * 86400
    os.utime(store.sharded("trees", tree.digest), (old, old))
    return store


def test_info_tells_what_fills_the_store(store: Store, say: Say) -> None:
    said = say("cache", "info", "--json").document

    assert said["root"] == str(store.root)
    assert (said["users"], said["free"] > 0) == (0, True)
    assert {part["name"]: part["files"] for part in said["parts"]}["files"] == 3


def test_verify_ends_with_one_until_it_is_fixed(store: Store, say: Say) -> None:
    assert say("cache", "verify").status == 0
    poison(stored(store, b"one"))

    said = say("cache", "verify")
    assert said.status == 1
    assert "its bytes are not those of its name" in said.out
    assert "`vvbuild cache verify --fix` removes them." in said.out
    document = say("cache", "verify", "--json").document
    assert (document["ok"], len(document["faults"])) == (False, 4)
    assert say("cache", "verify", "--fix").status == 0
    assert "Everything is what its name says." in say("cache", "verify").out


@pytest.mark.parametrize(
    ("words", "removed"),
    [
        ([], 1),
        (["--older-than", "7w"], 0),
        (["--older-than", "12h"], 1),
        (["--max-size", "20GB"], 0),
        (["--max-size", "0"], 1),
        (["--older-than", "7w", "--max-size", "20GiB"], 0),
    ],
    ids=str,
)
def test_prune_deletes_by_age_and_by_size(
    words: list[str], removed: int, store: Store, say: Say
) -> None:
    dry = say("cache", "prune", *words, "--dry-run", "--json").document
    wet = say("cache", "prune", *words, "--json").document

    assert len(wet["removed"]) == removed
    assert {**dry, "dry_run": False} == wet
    assert [each["steps"] for each in wet["removed"]] == [["step 1"]] * removed
    assert stored(store, b"one").exists() is not bool(removed)


def test_prune_says_what_went(store: Store, say: Say) -> None:
    said = say("cache", "prune")

    assert said.status == 0
    assert "step 1" in said.out
    assert "Deleted 25 B from" in said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--older-than", "7"], "--older-than: expected an age such as 12h, 7d or 2w, got '7'."),
        (["--max-size", "20G"], "--max-size: expected a size such as"),
    ],
    ids=["an age", "a size"],
)
def test_what_cannot_be_read_is_wrong_use(words: list[str], message: str, say: Say) -> None:
    said = say("cache", "prune", *words)

    assert (said.status, message in said.err) == (2, True)


@pytest.mark.parametrize("command", ["verify", "prune", "clean"])
def test_what_is_no_store_is_left_alone(command: str, say: Say) -> None:
    (default_root() / "v1").mkdir(parents=True)
    thesis: Path = default_root() / "v1/thesis"
    thesis.write_text("mine")

    said = say("cache", command)

    assert (said.status, "it is not a store" in said.err) == (2, True)
    assert thesis.read_text() == "mine"
