from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from vvbuild.errors import CancelledError, IntegrityError, StoreCorruptError, UsageError
from vvbuild.fetch.store import FIXED_TIME, Store, copy_file, default_root, link_or_copy, walk
from vvbuild.model.digest import Digest
from vvbuild.model.tree import Entry, Tree
from vvbuild.runtime.cancel import Cancel

Spread = Callable[[dict[str, object]], Path]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    store.prepare()
    return store


@pytest.fixture
def spread(tmp_path: Path) -> Spread:
    """Lay out a directory: bytes are files, a tuple a program, text a link, ``None`` a folder."""
    count = 0

    def spread(members: dict[str, object]) -> Path:
        nonlocal count
        count += 1
        root = tmp_path / f"tree{count}"
        root.mkdir()
        for name, content in members.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.mkdir()
            elif isinstance(content, str):
                path.symlink_to(content)
            else:
                path.write_bytes(content[0] if isinstance(content, tuple) else content)
                path.chmod(0o755 if isinstance(content, tuple) else 0o644)
        return root

    return spread


MEMBERS: dict[str, object] = {
    "a.txt": b"one",
    "bin/run": (b"#!/bin/sh\n",),
    "link": "bin/run",
    "empty": None,
    "deep/er/音声.vvm": b"voice",
}


def read(directory: Path) -> dict[str, object]:
    """What :func:`spread` would have laid out."""
    found: dict[str, object] = {}
    for path, relative, kind in walk(directory):
        if kind == "directory":
            found[relative] = None
        elif kind == "link":
            found[relative] = str(path.readlink())
        else:
            data = path.read_bytes()
            found[relative] = (data,) if kind == "program" else data
    return found


def writable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o222)


# Files


def test_a_file_lies_under_its_digest_read_only_and_with_the_fixed_time(
    store: Store, spread: Spread
) -> None:
    source = spread({"x": b"bytes"}) / "x"
    digest = Digest.of_bytes(b"bytes")

    final = store.add_file(source, digest)

    assert final == store.file_path(digest)
    assert final.read_bytes() == b"bytes"
    assert (final.name, final.parent.name) == (digest.hex, digest.hex[:2])
    assert final.stat().st_mtime == FIXED_TIME
    assert not writable(final)
    assert not source.exists()


def test_adding_twice_keeps_the_first(store: Store, spread: Spread) -> None:
    root = spread({"x": b"same", "y": b"same"})
    first = store.add_file(root / "x", Digest.of_bytes(b"same"))
    inode = first.stat().st_ino

    store.add_file(root / "y", Digest.of_bytes(b"same"))

    assert first.stat().st_ino == inode
    assert list(root.iterdir()) == []


def test_a_program_and_a_file_of_equal_bytes_are_two(store: Store, spread: Spread) -> None:
    root = spread({"x": b"same", "y": (b"same",)})
    tree = store.add_tree(root, Cancel())

    assert [entry.kind for entry in tree.entries] == ["file", "program"]
    paths = {store.file_path(entry.digest, entry.kind) for entry in tree.entries}
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o444, 0o555}


def test_what_is_not_there_is_not_there(store: Store) -> None:
    assert not store.has_file(Digest.of_bytes(b"nothing"))
    assert store.load_tree(Digest.of_bytes(b"nothing")) is None
    assert store.record(Digest.of_bytes(b"nothing")) is None


def tamper(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


def test_a_changed_file_is_noticed_and_dropped(store: Store, spread: Spread) -> None:
    digest = Digest.of_bytes(b"bytes")
    final = store.add_file(spread({"x": b"bytes"}) / "x", digest)
    tamper(final, b"BYTES")

    assert not store.has_file(digest, 5)
    assert not final.exists()


def test_a_truncated_file_is_noticed_even_with_the_right_time(store: Store, spread: Spread) -> None:
    digest = Digest.of_bytes(b"bytes")
    final = store.add_file(spread({"x": b"bytes"}) / "x", digest)
    tamper(final, b"by")
    os.utime(final, (FIXED_TIME, FIXED_TIME))

    assert not store.has_file(digest, 5)


def test_a_touched_file_with_its_bytes_is_mended(store: Store, spread: Spread) -> None:
    digest = Digest.of_bytes(b"bytes")
    final = store.add_file(spread({"x": b"bytes"}) / "x", digest)
    os.utime(final)

    assert store.has_file(digest, 5)
    assert final.stat().st_mtime == FIXED_TIME


def test_reading_all_of_a_corrupt_file_removes_it(store: Store, spread: Spread) -> None:
    digest = Digest.of_bytes(b"bytes")
    final = store.add_file(spread({"x": b"bytes"}) / "x", digest)
    assert store.verified_file(digest) == final
    tamper(final, b"BYTES")
    os.utime(final, (FIXED_TIME, FIXED_TIME))

    with pytest.raises(StoreCorruptError) as caught:
        store.verified_file(digest)

    assert caught.value.exit_status == 4
    assert not final.exists()


# Trees


def test_a_tree_comes_out_as_it_went_in(store: Store, spread: Spread, tmp_path: Path) -> None:
    tree = store.add_tree(spread(MEMBERS), Cancel())

    assert store.load_tree(tree.digest) == tree
    for link in (True, False):
        out = tmp_path / f"out{link}"
        store.export(tree, out, link=link)
        assert read(out) == MEMBERS
        assert read(store.checkout(tree)) == MEMBERS


def test_equal_trees_are_one(store: Store, spread: Spread) -> None:
    first = store.add_tree(spread(MEMBERS), Cancel())
    reordered = dict(reversed(MEMBERS.items()))

    assert store.add_tree(spread(reordered), Cancel()).digest == first.digest
    assert store.add_tree(spread({**MEMBERS, "more": b""}), Cancel()).digest != first.digest


def test_readers_share_the_bytes_and_others_get_copies(
    store: Store, spread: Spread, tmp_path: Path
) -> None:
    tree = store.add_tree(spread({"x": b"bytes"}), Cancel())
    inode = store.file_path(Digest.of_bytes(b"bytes")).stat().st_ino
    store.export(tree, tmp_path / "linked")
    store.export(tree, tmp_path / "copied", link=False)

    assert (tmp_path / "linked/x").stat().st_ino == inode
    assert (store.checkout(tree) / "x").stat().st_ino == inode
    copied = (tmp_path / "copied/x").stat()
    assert copied.st_ino != inode
    assert stat.S_IMODE(copied.st_mode) == 0o644
    assert copied.st_mtime == FIXED_TIME


def test_an_edit_of_a_copy_does_not_reach_the_store(
    store: Store, spread: Spread, tmp_path: Path
) -> None:
    tree = store.add_tree(spread(MEMBERS), Cancel())
    store.export(tree, tmp_path / "out", link=False)
    (tmp_path / "out/a.txt").write_bytes(b"edited")

    assert store.load_tree(tree.digest) == tree
    assert store.file_path(Digest.of_bytes(b"one")).read_bytes() == b"one"


def test_the_same_tree_again_is_the_same_checkout(store: Store, spread: Spread) -> None:
    tree = store.add_tree(spread(MEMBERS), Cancel())
    first = store.checkout(tree)
    inode = first.stat().st_ino

    assert store.checkout(tree) == first
    assert first.stat().st_ino == inode


def lose(path: Path) -> None:
    path.parent.chmod(0o755)
    path.unlink()


def retarget(path: Path) -> None:
    lose(path)
    path.symlink_to("/etc/passwd")


def turn_into_file(path: Path) -> None:
    path.parent.chmod(0o755)
    path.rmdir()
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("member", "damage"),
    [
        ("a.txt", lose),
        ("deep/er/音声.vvm", lose),
        ("link", lose),
        ("link", retarget),
        ("a.txt", retarget),
        ("empty", turn_into_file),
    ],
    ids=["a file lost", "a deep file lost", "a link lost", "a link elsewhere",
         "a file that became a link", "a folder that became a file"],
)  # fmt: skip
def test_a_damaged_checkout_is_made_anew(
    member: str, damage: Callable[[Path], None], store: Store, spread: Spread
) -> None:
    tree = store.add_tree(spread(MEMBERS), Cancel())
    damage(store.checkout(tree) / member)

    assert read(store.checkout(tree)) == MEMBERS


def test_tampering_through_a_hard_link_is_noticed_and_healed(store: Store, spread: Spread) -> None:
    tree = store.add_tree(spread(MEMBERS), Cancel())
    victim = store.checkout(tree) / "a.txt"
    tamper(victim, b"two")
    assert store.file_path(Digest.of_bytes(b"one")).read_bytes() == b"two"

    assert store.load_tree(tree.digest) is None
    again = store.add_tree(spread(MEMBERS), Cancel())

    assert again.digest == tree.digest
    assert store.load_tree(tree.digest) == tree
    assert read(store.checkout(tree)) == MEMBERS


def test_a_tree_that_lacks_a_file_is_not_trusted(store: Store, spread: Spread) -> None:
    tree = store.add_tree(spread(MEMBERS), Cancel())
    store.file_path(Digest.of_bytes(b"voice")).unlink()

    assert store.load_tree(tree.digest) is None


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{}", b"null", b"[[]]", b"[1]", b"[[1,2,3,4]]", b'[["../x","file","",0]]', b"\xff",
        b"[]", b'[["x","link","y",0]]', b"[" * 10_000,
    ],
    ids=lambda data: repr(data[:12]),
)  # fmt: skip
def test_a_corrupt_list_of_files_is_dropped(data: bytes, store: Store, spread: Spread) -> None:
    tree = store.add_tree(spread(MEMBERS), Cancel())
    path = store.base / "trees" / tree.digest.hex[:2] / f"{tree.digest.hex}.json"
    assert path.is_file()
    path.write_bytes(data)

    assert store.load_tree(tree.digest) is None
    assert not path.exists()


def test_a_list_cut_anywhere_is_dropped(store: Store, spread: Spread) -> None:
    tree = store.add_tree(spread(MEMBERS), Cancel())
    path = store.base / "trees" / tree.digest.hex[:2] / f"{tree.digest.hex}.json"
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        assert store.load_tree(tree.digest) is None


def test_a_pipe_is_refused(store: Store, spread: Spread) -> None:
    root = spread({"a": b""})
    os.mkfifo(root / "pipe")

    with pytest.raises(IntegrityError, match="neither a file nor a directory"):
        store.add_tree(root, Cancel())


def test_a_name_that_is_not_unicode_is_refused(store: Store, spread: Spread) -> None:
    root = spread({"a": b""})
    (root / os.fsdecode(b"caf\xe9")).write_bytes(b"")

    with pytest.raises(IntegrityError, match="A tree cannot hold this"):
        store.add_tree(root, Cancel())


def test_a_cancelled_tree_is_not_remembered(store: Store, spread: Spread) -> None:
    cancel = Cancel()
    cancel.set()

    with pytest.raises(CancelledError):
        store.add_tree(spread(MEMBERS), cancel)
    assert not list((store.base / "trees").rglob("*.json"))


def test_the_umask_does_not_matter(store: Store, spread: Spread, tmp_path: Path) -> None:
    root = spread(MEMBERS)
    before = os.umask(0o077)
    try:
        tree = store.add_tree(root, Cancel())
        store.export(tree, tmp_path / "copied", link=False)
        (tmp_path / "linked").mkdir()
        for path, relative, kind in walk(tmp_path / "copied"):
            if kind in ("file", "program"):
                link_or_copy(path, tmp_path / "linked" / relative.replace("/", "_"))
    finally:
        os.umask(before)

    assert tree == Tree.of([
        Entry("a.txt", "file", Digest.of_bytes(b"one"), 3),
        Entry("bin/run", "program", Digest.of_bytes(b"#!/bin/sh\n"), 10),
        Entry("deep/er/音声.vvm", "file", Digest.of_bytes(b"voice"), 5),
        Entry("empty", "directory"),
        Entry("link", "link", link="bin/run"),
    ])  # fmt: skip
    assert stat.S_IMODE((tmp_path / "copied/bin/run").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "copied/a.txt").stat().st_mode) == 0o644
    assert stat.S_IMODE(store.file_path(Digest.of_bytes(b"one")).stat().st_mode) == 0o444


def test_links_are_copied_as_links(spread: Spread, tmp_path: Path) -> None:
    root = spread({"link": "nowhere"})
    link_or_copy(root / "link", tmp_path / "copy")

    assert str((tmp_path / "copy").readlink()) == "nowhere"


def test_a_copy_is_another_file(spread: Spread, tmp_path: Path) -> None:
    source = spread({"a": b"x" * 100_000}) / "a"
    copy_file(source, tmp_path / "copy")

    assert (tmp_path / "copy").read_bytes() == source.read_bytes()
    assert (tmp_path / "copy").stat().st_ino != source.stat().st_ino


def test_a_file_that_is_there_is_never_written_into(
    store: Store, spread: Spread, tmp_path: Path
) -> None:
    """It may be a hard link into the store."""
    tree = store.add_tree(spread({"x": b"one"}), Cancel())
    other = store.add_tree(spread({"x": b"two"}), Cancel())
    store.export(tree, tmp_path / "out")

    for link in (True, False):
        with pytest.raises(FileExistsError):
            store.export(other, tmp_path / "out", link=link)
    with pytest.raises(FileExistsError):
        copy_file(store.file_path(Digest.of_bytes(b"two")), tmp_path / "out/x")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        copy_file(tmp_path / "out/x", tmp_path / "dangling")

    assert store.load_tree(tree.digest) == tree
    assert store.verified_file(Digest.of_bytes(b"one")).read_bytes() == b"one"


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EMLINK, errno.EPERM, errno.ENOTSUP])
def test_where_there_are_no_hard_links_there_are_copies(
    number: int, store: Store, spread: Spread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = store.add_tree(spread(MEMBERS), Cancel())

    def refuse(source: object, destination: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    directory = store.checkout(tree)

    assert read(directory) == MEMBERS
    inode = directory.stat().st_ino
    assert store.checkout(tree).stat().st_ino == inode
    link_or_copy(directory / "bin/run", tmp_path / "run")
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o755


# Records


def test_a_record_is_read_as_it_was_written(store: Store) -> None:
    key = Digest.of_bytes(b"key")
    store.write_record(key, {"facts": {"音": [1, None]}})

    assert store.record(key) == {"facts": {"音": [1, None]}}


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b"1", b'{"a":' + b"[" * 10_000])
def test_a_corrupt_record_is_dropped(data: bytes, store: Store) -> None:
    key = Digest.of_bytes(b"key")
    store.write_record(key, {})
    (path,) = (store.base / "records").rglob("*.json")
    path.write_bytes(data)

    assert store.record(key) is None
    assert not path.exists()


# The directory


def test_a_new_store_is_tagged_as_a_cache(tmp_path: Path) -> None:
    """So that backup programs leave it out (bford.info/cachedir)."""
    Store(tmp_path / "new/store").prepare()

    tag = (tmp_path / "new/store/CACHEDIR.TAG").read_bytes()
    assert tag.startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")


def test_a_directory_that_is_no_store_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")

    with pytest.raises(UsageError, match="it is not a store of vvbuild") as caught:
        Store(tmp_path).prepare()

    assert "VVBUILD_CACHE_DIR" in caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")

    with pytest.raises(UsageError, match="it is not a store of vvbuild"):
        Store(tmp_path / "file").prepare()
    assert (tmp_path / "file").read_text() == "mine"


def test_a_store_whose_first_moment_was_its_last_can_be_made(tmp_path: Path) -> None:
    """Killed while the tag was written: nothing but its beginning is there."""
    (tmp_path / ".CACHEDIR.TAG.abc.part").write_bytes(b"Sig")

    Store(tmp_path).prepare()

    assert (tmp_path / "v1/files").is_dir()


def test_an_empty_directory_can_be_a_store(tmp_path: Path) -> None:
    Store(tmp_path).prepare()
    Store(tmp_path).prepare()

    assert (tmp_path / "CACHEDIR.TAG").is_file()


def test_the_place_of_the_store_can_be_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VVBUILD_CACHE_DIR", str(tmp_path / "chosen"))
    assert default_root() == tmp_path / "chosen"

    monkeypatch.setenv("VVBUILD_CACHE_DIR", "")
    assert default_root().name == "vvbuild"


# Scratch


def test_scratch_is_private_and_gone_afterwards(store: Store) -> None:
    with store.scratch() as one, store.scratch() as two:
        assert one != two
        (one / "x").write_text("x")

    assert list((store.base / "work").iterdir()) == []
    assert [path.name for path in (store.base / "locks").iterdir()] == ["gate.lock"]


def test_scratch_is_gone_after_a_failure_too(store: Store) -> None:
    def work() -> None:
        with store.scratch() as scratch:
            (scratch / "x").mkdir()
            (scratch / "x").chmod(0o500)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        work()

    assert list((store.base / "work").iterdir()) == []


def test_scratch_in_use_is_not_swept(store: Store) -> None:
    with store.scratch() as work:
        (work / "x").write_text("x")
        Store(store.root).prepare()
        assert (work / "x").read_text() == "x"


def test_scratch_that_nobody_holds_is_swept(store: Store) -> None:
    dead = store.base / "work" / "dead"
    (dead / "deep").mkdir(parents=True)
    (dead / "deep").chmod(0o500)
    store.prepare()

    assert not dead.exists()
