"""The order of versions: what is newer, and what is no version at all."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from vvbuild.outdated.order import Ranked, rank

NUMBERS = st.lists(st.integers(0, 120), min_size=1, max_size=5).map(
    lambda parts: ".".join(map(str, parts))
)
MARKERS = st.sampled_from(
    ["", "-dev", "-preview.0", "-preview.2", "-preview.10", "-rc.1", "rc1", "rc10", ".dev3", "b2"]
)
VERSIONS = st.builds("".join, st.tuples(NUMBERS, MARKERS))


def plain(text: str) -> Ranked:
    found = rank(text, "plain")
    assert found is not None
    return found


@pytest.mark.parametrize(
    "ordered",
    [
        "0.16.0-preview.0 0.16.0-preview.1 0.16.0-preview.10 0.16.0 0.16.1",
        "0.25.2 0.26.0-dev 0.26.0-preview.0 0.26.0",
        "1.0rc1 1.0rc2 1.0rc10 1.0 1.0.0.1",
        # The row of https://semver.org, section 11.
        "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0",
        "1.0.0-beta.11 1.0.0-rc.1 1.0.0",
        "1.9.1 1.9.1.1 1.9.1.2 1.10.0 1.10.0.1 1.13.1",
        "8.9.2.26 8.9.7.29 9.8.0.87 9.10.2.21",
        "1.28.0-dev.20260624-ba45260eed 1.28.0 1.29.0",
    ],
)
def test_real_rows_stand_in_their_order(ordered: str) -> None:
    versions = [plain(text) for text in ordered.split()]

    for older, newer in itertools.combinations(versions, 2):
        assert newer.newer_than(older), (newer.text, older.text)
        assert not older.newer_than(newer), (newer.text, older.text)


@pytest.mark.parametrize(
    "text",
    ["main", "latest", "", "v1.0", "015.0-preview.1", "1.", "1..2", "1.0-", "1.0-a..b", "1.0 ",
     "1.0_cuda11", "1.0/2", "1.0\n", "-1", "²", "9" * 65, "1.0-" + "a" * 80],
)  # fmt: skip
def test_what_is_no_version_has_no_rank(text: str) -> None:
    assert rank(text, "plain") is None
    if text not in ("v1.0", "015.0-preview.1", "1.0 ", "1.0\n"):
        assert rank(text, "python") is None


@pytest.mark.parametrize(
    ("text", "prerelease"),
    [("1.0", False), ("1.0+cu12", False), ("1.0-rc.1", True), ("1.0rc1", True), ("1.0.dev3", True),
     ("0.26.0-dev", True), ("1.0-PREVIEW.0", True)],
)  # fmt: skip
def test_pre_releases_are_told_apart(text: str, prerelease: bool) -> None:
    assert plain(text).prerelease is prerelease


@given(VERSIONS, VERSIONS, VERSIONS)
def test_the_order_is_total(first: str, second: str, third: str) -> None:
    one, two, three = plain(first), plain(second), plain(third)

    assert [one.newer_than(two), two.newer_than(one), one.key == two.key].count(True) == 1
    if one.newer_than(two) and two.newer_than(three):
        assert one.newer_than(three)


@given(NUMBERS, MARKERS)
def test_a_pre_release_comes_before_its_version_and_after_the_one_below(
    numbers: str, marker: str
) -> None:
    version, below = plain(numbers + marker), plain(f"{numbers}-0")

    assert not version.newer_than(plain(numbers))
    if marker:
        assert plain(numbers).newer_than(version)
    assert version.key == below.key or version.newer_than(below)


@given(NUMBERS, NUMBERS)
def test_plain_numbers_are_ordered_as_packaging_orders_them(left: str, right: str) -> None:
    for scheme in ("plain", "python"):
        one, two = rank(left, scheme), rank(right, scheme)
        assert one is not None
        assert two is not None
        assert one.newer_than(two) == (Version(left) > Version(right))
        assert (one.key == two.key) == (Version(left) == Version(right))


@given(NUMBERS, MARKERS)
def test_zeros_at_the_end_and_builds_make_no_difference(numbers: str, marker: str) -> None:
    version = plain(numbers + marker)

    assert plain(f"{numbers}.0{marker}").key == version.key
    assert plain(f"{numbers}{marker}+build.7").key == version.key


@given(VERSIONS, VERSIONS)
def test_a_wider_series_takes_all_that_a_narrower_one_takes(left: str, right: str) -> None:
    one, two = plain(left), plain(right)

    assert one.within("major", two)
    assert not one.within("patch", two) or one.within("minor", two)
    assert one.within("patch", one)


@pytest.mark.parametrize(
    ("version", "of", "narrowest"),
    [("1.23.3", "1.23.2", "patch"), ("1.24.0", "1.23.2", "minor"), ("2.0", "1.23.2", "major"),
     ("0.17.0", "0.16.2", "minor"), ("12.9.1", "12.9", "patch"), ("1.0.5", "1", "patch")],
)  # fmt: skip
def test_the_series_of_a_step(version: str, of: str, narrowest: str) -> None:
    took = [each for each in ("patch", "minor", "major") if plain(version).within(each, plain(of))]

    assert took[0] == narrowest


def test_python_versions_are_those_of_pep_440() -> None:
    row = ["1.0.dev1", "1.0a1", "1.0rc1", "1.0", "1.0.post1", "1!0.1"]
    ranked = [rank(text, "python") for text in row]

    assert None not in ranked
    assert sorted(ranked, key=lambda each: each.key) == ranked
    assert [each.prerelease for each in ranked] == [True, True, True, False, False, False]
