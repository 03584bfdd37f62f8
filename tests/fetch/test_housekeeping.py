from __future__ import annotations

from pathlib import Path

import pytest

from vvbuild.errors import UsageError
from vvbuild.fetch.housekeeping import clean, measure
from vvbuild.fetch.store import Store
from vvbuild.runtime.cancel import Cancel


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    store.prepare()
    source = tmp_path / "source"
    source.mkdir()
    (source / "big").write_bytes(b"x" * 100_000)
    (source / "small").write_bytes(b"y" * 10)
    tree = store.add_tree(source, Cancel())
    store.checkout(tree)
    return store


def test_hard_links_count_once(store: Store) -> None:
    usage = measure(store)
    parts = {part.name: part for part in usage.parts}

    assert parts["files"].size == 100_010
    assert parts["files"].files == 2
    assert parts["checkouts"].files == 2
    assert parts["checkouts"].size == 0
    assert usage.size == sum(part.size for part in usage.parts)


def test_a_store_that_is_not_there_is_empty(tmp_path: Path) -> None:
    usage = measure(Store(tmp_path / "nowhere"))

    assert (usage.parts, usage.size) == ((), 0)
    assert clean(Store(tmp_path / "nowhere")).size == 0
    assert not (tmp_path / "nowhere").exists()


def test_cleaning_deletes_everything_and_leaves_a_store(store: Store) -> None:
    before = measure(store).size
    usage = clean(store)

    assert usage.size == before
    assert [path.name for path in store.root.iterdir()] == ["CACHEDIR.TAG"]
    store.prepare()
    assert measure(store).size == 0


def test_only_our_own_format_is_deleted(store: Store) -> None:
    (store.root / "v0").mkdir()
    (store.root / "v0/other").write_text("an older vvbuild's")

    clean(store)

    assert (store.root / "v0/other").exists()


def test_a_directory_without_our_tag_is_never_deleted(tmp_path: Path) -> None:
    (tmp_path / "v1/files").mkdir(parents=True)
    (tmp_path / "v1/files/thesis").write_text("mine")

    with pytest.raises(UsageError, match="nothing was deleted"):
        clean(Store(tmp_path))
    assert (tmp_path / "v1/files/thesis").read_text() == "mine"


def test_a_store_in_use_is_not_deleted(store: Store) -> None:
    with store.scratch(), pytest.raises(UsageError, match="Another vvbuild is working"):
        clean(store)
    assert measure(store).size > 100_000


def test_a_link_in_the_store_is_not_followed(store: Store, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "thesis").write_text("mine")
    (store.base / "link").symlink_to(outside)

    clean(store)

    assert (outside / "thesis").read_text() == "mine"
