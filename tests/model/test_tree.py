from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.model.digest import Digest
from vvbuild.model.tree import Entry, Tree

PATHS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=5).filter(
        lambda part: part not in (".", "..")
    ),
    min_size=1,
    max_size=3,
).map("/".join)
DIGESTS = st.binary(max_size=3).map(Digest.of_bytes)
ENTRIES = st.one_of(
    st.builds(Entry, PATHS, st.sampled_from(["file", "program"]), DIGESTS, st.integers(0, 1 << 50)),
    st.builds(lambda path, link: Entry(path, "link", link=link), PATHS, PATHS),
    st.builds(lambda path: Entry(path, "directory"), PATHS),
)


@given(ENTRIES)
def test_an_entry_is_read_as_it_is_written(entry: Entry) -> None:
    assert Entry.from_json(json.loads(json.dumps(entry.as_json()))) == entry


@given(st.lists(ENTRIES, max_size=8, unique_by=lambda entry: entry.path), st.randoms())
def test_the_order_of_entries_does_not_matter(entries: list[Entry], random) -> None:
    shuffled = list(entries)
    random.shuffle(shuffled)

    assert Tree.of(entries) == Tree.of(shuffled)
    assert Tree.of(entries).digest == Tree.of(shuffled).digest


FILE = Entry("a", "file", Digest.of_bytes(b"1"), 1)


@pytest.mark.parametrize(
    "other",
    [
        Entry("b", "file", Digest.of_bytes(b"1"), 1),
        Entry("a", "program", Digest.of_bytes(b"1"), 1),
        Entry("a", "file", Digest.of_bytes(b"2"), 1),
        Entry("a", "link", link="b"),
        Entry("a", "directory"),
    ],
)
def test_whatever_differs_makes_another_tree(other: Entry) -> None:
    assert Tree.of([FILE]).digest != Tree.of([other]).digest
    assert Tree.of([FILE, other]).digest != Tree.of([FILE]).digest


def test_a_tree_finds_and_measures() -> None:
    tree = Tree.of([Entry("x/b", "program", Digest.of_bytes(b"22"), 2), FILE])

    assert tree.find("x/b").mode == 0o755
    assert tree.find("a").mode == 0o644
    assert tree.find("x") is None
    assert tree.size == 3


HEX = "0" * 64


@pytest.mark.parametrize(
    "row",
    [
        [],
        ["a", "file", HEX],
        ["a", "file", HEX, 1, 2],
        ["../a", "file", HEX, 1],
        ["a/../../b", "file", HEX, 1],
        ["/a", "file", HEX, 1],
        ["", "file", HEX, 1],
        [".", "directory", "", 0],
        ["a//b", "file", HEX, 1],
        ["a/", "directory", "", 0],
        ["./a", "file", HEX, 1],
        ["a\0b", "file", HEX, 1],
        ["a", "device", HEX, 1],
        ["a", None, HEX, 1],
        ["a", "file", "", 1],
        ["a", "file", "zz", 1],
        ["a", "file", HEX, -1],
        ["a", "file", HEX, "1"],
        ["a", "file", HEX, True],
        ["a", "file", HEX, 1.0],
        ["a", "file", None, 1],
        ["a", "link", "", 0],
        [1, "file", HEX, 1],
        [None, "directory", "", 0],
    ],
)
def test_a_hostile_entry_is_refused(row: list[object]) -> None:
    with pytest.raises(ValueError):
        Entry.from_json(row)
