"""`cache verify`: everything that a name promises is read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fetch.stores import MEMBERS, keep, key, poison, read, replace, stored
from vvbuild.errors import CancelledError, UsageError
from vvbuild.fetch.store import FIXED_TIME, Store
from vvbuild.fetch.store.verify import verify_store
from vvbuild.model.digest import Digest
from vvbuild.model.events import Event, Progress
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import remove_tree

OTHERS: dict[str, object] = {"a.txt": b"another", "same": b"voice"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    store.prepare()
    keep(store, 1, MEMBERS)
    keep(store, 2, OTHERS)
    return store


def listed(store: Store, part: str, number: int) -> Path:
    if part == "records":
        return store.sharded(part, key(number))
    tree = str((store.record(key(number)) or {})["tree"])
    return store.sharded("trees", Digest(tree))


def checkout(store: Store, number: int) -> Path:
    return store.base / "checkouts" / listed(store, "trees", number).stem


def in_open(folder: Path, work: Callable[[], object]) -> None:
    folder.chmod(0o755)
    work()
    folder.chmod(0o555)


def everything(store: Store) -> dict[str, tuple[float, bytes | None]]:
    return {
        str(path): (path.lstat().st_mtime, path.read_bytes() if path.is_file() else None)
        for path in store.root.rglob("*")
    }


def test_a_sound_store_is_sound_and_untouched(store: Store) -> None:
    before = everything(store)
    found = verify_store(store)

    assert found.faults == ()
    assert (found.files, found.trees, found.records, found.checkouts) == (4, 2, 2, 2)
    assert found.size == len(b"one#!/bin/sh\nvoiceanother")
    assert everything(store) == before


HARM: dict[str, tuple[Callable[[Store], object], set[str], str]] = {
    "a file's bytes": (
        lambda store: poison(stored(store, b"one")),
        {"file", "tree", "record", "checkout"},
        "its bytes are not those of its name",
    ),
    "a file that is gone": (
        lambda store: stored(store, b"another").unlink(),
        {"tree", "record", "checkout"},
        "files are missing or wrong: a.txt",
    ),
    "a file of no digest": (
        lambda store: (store.base / "files/ab/note.txt").parent.mkdir()
        or (store.base / "files/ab/note.txt").write_bytes(b""),
        {"file"},
        "its name is no digest",
    ),
    "a file in another's shard": (
        lambda store: shutil.copy(
            stored(store, b"one"), stored(store, b"voice").with_name(stored(store, b"one").name)
        ),
        {"file"},
        "its name is no digest",
    ),
    "a folder instead of a file": (
        lambda store: stored(store, b"another").unlink()
        or stored(store, b"another").mkdir(),
        {"file", "tree", "record", "checkout"},
        "it is no file",
    ),
    "a list of other files": (
        lambda store: listed(store, "trees", 1).write_bytes(b"[]"),
        {"tree", "record", "checkout"},
        "it is not the list of its name",
    ),
    "a list of no digest": (
        lambda store: (store.base / "trees/ab/x.json").parent.mkdir(exist_ok=True)
        or (store.base / "trees/ab/x.json").write_bytes(b"[]"),
        {"tree"},
        "its name is no digest",
    ),
    "a record that cannot be read": (
        lambda store: listed(store, "records", 1).write_bytes(b"{"),
        {"record"},
        "it cannot be read",
    ),
    "a record of nothing": (
        lambda store: store.write_record(key(3), {"tree": "0" * 64}),
        {"record"},
        "what it names is missing or wrong",
    ),
    "a file in a checkout": (
        lambda store: in_open(
            checkout(store, 1), lambda: (checkout(store, 1) / "x").write_bytes(b"")
        ),
        {"checkout"},
        "x does not belong there",
    ),
    "a file that a checkout lacks": (
        lambda store: in_open(checkout(store, 1), (checkout(store, 1) / "a.txt").unlink),
        {"checkout"},
        "a.txt is missing",
    ),
    "a file of a checkout that is another": (
        lambda store: in_open(
            checkout(store, 1),
            lambda: replace(checkout(store, 1) / "a.txt", b"two"),
        ),
        {"checkout"},
        "a.txt has other bytes",
    ),
    "a checkout of nothing": (
        lambda store: (store.base / "checkouts" / "x").mkdir(),
        {"checkout"},
        "its tree is missing or wrong",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("harm", "kinds", "why"), HARM.values(), ids=HARM)
def test_harm_is_found_told_and_removed_when_told_to(
    harm: Callable[[Store], object], kinds: set[str], why: str, store: Store
) -> None:
    harm(store)
    before = everything(store)

    found = verify_store(store)

    assert {fault.kind for fault in found.faults} == kinds
    assert why in {fault.why for fault in found.faults}
    assert all((store.root / fault.path).exists() and not fault.removed for fault in found.faults)
    assert everything(store) == before

    fixed = verify_store(store, fix=True)

    assert {(it.kind, it.path) for it in fixed.faults} == {
        (it.kind, it.path) for it in found.faults
    }
    assert all(fault.removed for fault in fixed.faults)
    assert verify_store(store).faults == ()
    # What was removed is made again, and everything is as it was.
    assert read(store.checkout(keep(store, 1, MEMBERS))) == MEMBERS
    assert read(store.checkout(keep(store, 2, OTHERS))) == OTHERS


def test_a_checkout_of_copies_is_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: object, destination: object) -> None:
        raise OSError(1, "no links")

    monkeypatch.setattr(os, "link", refuse)
    remove_tree(checkout(store, 1))
    copy = keep(store, 1, MEMBERS)
    assert verify_store(store).faults == ()

    poison(store.checkout(copy) / "a.txt")
    assert [fault.kind for fault in verify_store(store).faults] == ["checkout"]


def test_a_touched_file_is_no_fault_and_mended_when_told_to(store: Store) -> None:
    os.utime(stored(store, b"another"))
    stored(store, b"another").chmod(0o644)
    assert {fault.kind for fault in verify_store(store).faults} <= {"checkout"}

    verify_store(store, fix=True)

    facts = stored(store, b"another").stat()
    assert (facts.st_mtime, facts.st_mode & 0o777) == (FIXED_TIME, 0o444)


def test_progress_is_told_in_bytes(store: Store) -> None:
    events: list[Event] = []
    found = verify_store(store, emit=events.append)

    assert events == [Progress("verify", found.size, found.size)]


def test_reading_can_be_interrupted(store: Store) -> None:
    cancel = Cancel()
    cancel.set()

    with pytest.raises(CancelledError):
        verify_store(store, cancel=cancel)


def test_what_is_no_store_is_not_read(tmp_path: Path) -> None:
    assert verify_store(Store(tmp_path / "nowhere")).files == 0
    (tmp_path / "v1/files/ab").mkdir(parents=True)
    (tmp_path / "v1/files/ab/thesis").write_text("mine")
    for tag in (None, b"Signature: 8a477f597d28d172789f06886806bc55\n# another program's\n"):
        if tag is not None:
            (tmp_path / "CACHEDIR.TAG").write_bytes(tag)
        with pytest.raises(UsageError, match="it is not a store"):
            verify_store(Store(tmp_path), fix=True)
    assert (tmp_path / "v1/files/ab/thesis").read_text() == "mine"
