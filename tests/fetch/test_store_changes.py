"""What the cheap look notices: edits, replacements, strangers, backups, clocks."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fetch.stores import MEMBERS, counting, keep, key, poison, read, replace, spread, stored
from vvbuild.errors import StoreCorruptError
from vvbuild.fetch.store import FIXED_TIME, Store
from vvbuild.fetch.store.stamps import GRAIN
from vvbuild.fetch.store.verify import verify_store
from vvbuild.model.digest import Digest
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import remove_tree

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes of directories")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    store.prepare()
    return store


# Checkouts


@posix
def test_nobody_may_write_into_a_checkout(store: Store) -> None:
    directory = store.checkout(keep(store, 1, MEMBERS))
    folders = [directory, *(path for path in directory.rglob("*") if path.is_dir())]

    assert len(folders) == 5
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o555}


@posix
def test_a_checkout_that_was_opened_again_is_sealed(store: Store) -> None:
    """A process that was killed between the move and the sealing leaves it so."""
    tree = keep(store, 1, MEMBERS)
    store.checkout(tree).chmod(0o755)
    inode = store.checkout(tree).stat().st_ino

    assert stat.S_IMODE(store.checkout(tree).stat().st_mode) == 0o555
    assert store.checkout(tree).stat().st_ino == inode


def in_folder(path: Path, work: Callable[[], object]) -> None:
    path.parent.chmod(0o755)
    work()


STRANGERS: dict[str, Callable[[Path], object]] = {
    "a file": lambda root: in_folder(root / "x", lambda: (root / "x").write_bytes(b"")),
    "a file below": lambda root: in_folder(
        root / "deep/er/x", lambda: (root / "deep/er/x").write_bytes(b"")
    ),
    "a file in an empty folder": lambda root: in_folder(
        root / "empty/x", lambda: (root / "empty/x").write_bytes(b"")
    ),
    "a folder": lambda root: in_folder(root / "x", (root / "x").mkdir),
    "a link": lambda root: in_folder(root / "x", lambda: (root / "x").symlink_to("a.txt")),
    "a cache of Python": lambda root: in_folder(root / "x", (root / "__pycache__").mkdir),
}


@pytest.mark.parametrize("harm", STRANGERS.values(), ids=STRANGERS)
def test_a_stranger_in_a_checkout_is_noticed(harm: Callable[[Path], object], store: Store) -> None:
    tree = keep(store, 1, MEMBERS)
    harm(store.checkout(tree))
    assert [fault.kind for fault in verify_store(store).faults] == ["checkout"]

    assert read(store.checkout(tree)) == MEMBERS
    assert verify_store(store).faults == ()


def test_a_file_that_was_replaced_with_its_size_and_time_is_noticed(store: Store) -> None:
    tree = keep(store, 1, MEMBERS)
    replace(store.checkout(tree) / "a.txt", b"two")

    assert read(store.checkout(tree)) == MEMBERS


@posix
def test_lost_execute_bits_are_noticed_and_given_back(store: Store) -> None:
    tree = keep(store, 1, MEMBERS)
    program = store.checkout(tree) / "bin/run"
    program.chmod(0o444)

    assert store.load_tree(tree.digest) == tree
    assert read(store.checkout(tree)) == MEMBERS


def test_a_copied_checkout_is_made_anew(store: Store) -> None:
    """A copy has other inodes; making links again is cheaper than reading them."""
    tree = keep(store, 1, MEMBERS)
    directory = store.checkout(tree)
    copy = directory.with_name("copy")
    shutil.copytree(directory, copy, symlinks=True)
    remove_tree(directory)
    copy.chmod(0o755)
    copy.rename(directory)

    again = store.checkout(tree)

    assert read(again) == MEMBERS
    assert (again / "a.txt").stat().st_ino == stored(store, b"one").stat().st_ino


def test_looking_at_an_untouched_tree_reads_no_file(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = keep(store, 1, MEMBERS)
    hashed = counting(monkeypatch, "vvbuild.fetch.store.core")

    assert store.load_tree(tree.digest) == tree
    store.checkout(tree)
    assert hashed() == 0


# Edits of the store's files


def test_an_edit_in_place_that_hides_itself_is_found_by_reading(store: Store) -> None:
    tree = keep(store, 1, MEMBERS)
    poison(store.checkout(tree) / "a.txt")
    # No cheap look can see it: that is what reading is for.
    assert store.load_tree(tree.digest) == tree

    found = verify_store(store)
    with pytest.raises(StoreCorruptError):
        store.verified_file(Digest.of_bytes(b"one"))

    assert {fault.kind for fault in found.faults} == {"file", "tree", "record", "checkout"}
    assert store.load_tree(tree.digest) is None


def test_a_file_is_read_whole_once_for_as_long_as_nobody_changes_it(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new").write_bytes(b"one")
    digest = Digest.of_bytes(b"one")
    final = store.add_file(tmp_path / "new", digest)
    hashed = counting(monkeypatch, "vvbuild.fetch.store.core")

    assert store.verified_file(digest) == final
    assert hashed() == 0
    poison(final)
    with pytest.raises(StoreCorruptError):
        store.verified_file(digest)

    assert hashed() == 1


def test_a_file_that_was_replaced_in_the_store_is_read_and_dropped(store: Store) -> None:
    tree = keep(store, 1, MEMBERS)
    replace(stored(store, b"one"), b"two")

    assert store.load_tree(tree.digest) is None
    assert not stored(store, b"one").exists()


def test_a_lone_file_that_was_replaced_is_read_and_dropped(store: Store, tmp_path: Path) -> None:
    digest = Digest.of_bytes(b"bytes")
    final = store.add_file(spread(tmp_path / "x", {"f": b"bytes"}) / "f", digest)
    assert store.has_file(digest, 5)
    replace(final, b"BYTES")

    assert not store.has_file(digest, 5)


# Backups and copies


def test_a_restored_store_is_read_once_and_then_trusted(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = keep(store, 1, MEMBERS)
    digest = Digest.of_bytes(b"voice")
    assert store.has_file(digest)
    shutil.copytree(store.root, tmp_path / "restored", symlinks=True)
    restored = Store(tmp_path / "restored")
    restored.prepare()
    hashed = counting(monkeypatch, "vvbuild.fetch.store.core")

    assert restored.load_tree(tree.digest) == tree
    assert hashed() == 3
    assert restored.has_file(digest)
    assert hashed() == 4
    assert restored.load_tree(tree.digest) == tree
    assert restored.has_file(digest)
    assert read(restored.checkout(tree)) == MEMBERS
    assert hashed() == 4


def test_a_restored_store_that_was_harmed_is_noticed(store: Store, tmp_path: Path) -> None:
    tree = keep(store, 1, MEMBERS)
    shutil.copytree(store.root, tmp_path / "restored", symlinks=True)
    restored = Store(tmp_path / "restored")
    poison(stored(restored, b"one"))

    assert restored.load_tree(tree.digest) is None


def test_a_damaged_note_of_inodes_only_costs_a_reading(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = keep(store, 1, MEMBERS)
    notes = [path for path in (store.base / "seen").rglob("*") if path.is_file()]
    assert len(notes) == 2
    for data in (b"", b"[1]", b"{}", b"\xff"):
        for note in notes:
            note.write_bytes(data)
        hashed = counting(monkeypatch, "vvbuild.fetch.store.core")
        assert store.load_tree(tree.digest) == tree
        assert hashed() == 3
        assert read(store.checkout(tree)) == MEMBERS


def test_times_of_two_seconds_are_fine_enough() -> None:
    """FAT keeps even seconds only."""
    assert FIXED_TIME % 2 == 0
    # And DOS counts from 1980 on, by a local time up to 14 hours away.
    assert time.gmtime(FIXED_TIME - 14 * 3600).tm_year == 1980


def test_times_in_another_zone_only_cost_a_reading(store: Store) -> None:
    """FAT keeps local times: after a journey, all files seem touched by whole hours."""
    tree = keep(store, 1, MEMBERS)
    for data in (b"one", b"voice"):
        os.utime(stored(store, data), (FIXED_TIME + 9 * 3600, FIXED_TIME + 9 * 3600))

    assert store.load_tree(tree.digest) == tree
    assert stored(store, b"one").stat().st_mtime == FIXED_TIME
    assert read(store.checkout(tree)) == MEMBERS


# Clocks


@pytest.mark.parametrize("year", [1980, 2107])
def test_a_clock_gone_wrong_is_harmless(
    year: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = float((year - 1970) * 31_557_600)
    monkeypatch.setattr(time, "time", lambda: now)
    tree = keep(store, 1, MEMBERS)
    listed = store.sharded("trees", tree.digest)
    os.utime(listed, (now, now))

    assert store.load_tree(tree.digest) == tree
    monkeypatch.undo()
    assert store.load_tree(tree.digest) == tree
    assert abs(listed.stat().st_mtime - time.time()) < GRAIN
    assert store.record(key(1)) is not None
    assert read(store.checkout(tree)) == MEMBERS


# Stamps


def test_a_use_is_stamped_and_the_stamp_is_renewed_seldom(store: Store) -> None:
    tree = keep(store, 1, MEMBERS)
    listed = store.sharded("trees", tree.digest)
    now = time.time()
    for age, renewed in ((GRAIN / 2, False), (GRAIN * 2, True), (-GRAIN * 2, True)):
        os.utime(listed, (now - age, now - age))
        before = listed.stat().st_mtime
        store.load_tree(tree.digest)
        assert (listed.stat().st_mtime != before) is renewed


def test_a_use_does_not_touch_the_files_themselves(store: Store, tmp_path: Path) -> None:
    tree = keep(store, 1, MEMBERS)
    before = {path: path.stat() for path in (store.base / "files").rglob("*") if path.is_file()}
    store.load_tree(tree.digest)
    store.has_file(Digest.of_bytes(b"one"), 3)

    assert {path: path.stat().st_mtime for path in before} == dict.fromkeys(before, FIXED_TIME)
    assert all(path.stat().st_ctime == facts.st_ctime for path, facts in before.items())


def test_a_stamp_that_cannot_be_written_does_not_matter(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = keep(store, 1, MEMBERS)

    def refuse(*words: object, **options: object) -> None:
        raise PermissionError

    shutil.rmtree(store.base / "seen")
    monkeypatch.setattr("vvbuild.fetch.store.stamps.write_atomically", refuse)
    monkeypatch.setattr("vvbuild.fetch.store.stamps.os.utime", refuse)

    assert store.load_tree(tree.digest) == tree
    assert store.has_file(Digest.of_bytes(b"one"), 3)


def test_a_tree_and_its_cancel_are_independent(store: Store, tmp_path: Path) -> None:
    """Two trees that share files share them after one of them was dropped, too."""
    first = keep(store, 1, MEMBERS)
    second = store.add_tree(spread(tmp_path / "x", {**MEMBERS, "b": b"more"}), Cancel())
    replace(stored(store, b"one"), b"two")
    assert store.load_tree(first.digest) is None
    keep(store, 1, MEMBERS)

    assert store.load_tree(first.digest) == first
    assert store.load_tree(second.digest) == second
