"""Versions and ranges, with ``packaging`` as the second opinion."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from vvbuild.model.version import clauses, gaps, major, numbers, older, series, within

PARTS = st.lists(st.integers(0, 30), min_size=1, max_size=5)
PLAIN = PARTS.map(lambda parts: ".".join(map(str, parts)))
SIGNS = st.sampled_from([">=", "<=", "==", ">", "<"])
RANGES = st.lists(st.tuples(SIGNS, PLAIN).map("".join), min_size=1, max_size=3).map(",".join)
ANY = st.one_of(PLAIN, st.text(max_size=12), PLAIN.map(lambda text: text + "-preview.1"))


@given(PLAIN, PLAIN)
def test_the_order_is_that_of_packaging(left: str, right: str) -> None:
    assert older(left, right) is (Version(left) < Version(right))
    assert (numbers(left) == numbers(right)) is (Version(left) == Version(right))


@given(ANY, ANY, ANY)
def test_the_order_is_total_and_transitive_where_there_are_numbers(
    first: str, second: str, third: str
) -> None:
    if None in (numbers(first), numbers(second), numbers(third)):
        return
    same = numbers(first) == numbers(second)
    assert [older(first, second), older(second, first), same].count(True) == 1
    if older(first, second) and older(second, third):
        assert older(first, third)


@given(ANY, st.text(max_size=12))
def test_what_has_no_numbers_is_neither_older_nor_newer(left: str, right: str) -> None:
    if numbers(left) is None or numbers(right) is None:
        assert not older(left, right)
        assert not older(right, left)


@given(PLAIN, RANGES)
def test_a_range_holds_what_packaging_says(version: str, text: str) -> None:
    assert within(version, text) is (version in SpecifierSet(text))


@given(PLAIN, RANGES)
def test_a_preview_lies_where_its_release_does(version: str, text: str) -> None:
    assert within(f"{version}-preview.3", text) is within(version, text)


@given(ANY)
def test_numbers_are_whole_numbers_from_the_left(text: str) -> None:
    found = numbers(text)

    assert (found is None) is not (text[:1].isdecimal() and text[:1].isascii())
    assert major(text) == (found[0] if found else None)
    assert found is None or found == (0,) or found[-1] != 0 or len(found) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.17.3", (1, 17, 3)), ("1.17.0", (1, 17)), ("0", (0,)), ("0.0.0", (0,)),
        ("8.9.2.26_cuda11", (8, 9, 2, 26)), ("0.16.0-preview.0", (0, 16)), ("01.02", (1, 2)),
        ("1.2.3.4.5.6.7.8.9.10", (1, 2, 3, 4, 5, 6, 7, 8)), ("1..2", (1,)), ("1.", (1,)),
        ("1.2rc1", (1, 2)), ("1 2", (1,)), ("1\n", (1,)),
        ("", None), ("v1.2", None), ("-1", None), (".1", None), ("latest", None), (" 1", None),
        ("é", None), (">=1", None),
    ],
)  # fmt: skip
def test_the_numbers_of_odd_texts(text: str, expected: tuple[int, ...] | None) -> None:
    assert numbers(text) == expected


@pytest.mark.parametrize("text", ["٣.١", "１.２", "²", "9" * 10, "9" * 4000])
def test_a_digit_is_one_of_ten_and_a_number_is_short(text: str) -> None:
    """What is cut off or read otherwise would be compared as another version."""
    assert numbers(text) is None
    assert numbers(f"1.{text}") == (1,)


@pytest.mark.parametrize(
    ("version", "expected"), [("0.16.2", (0, 16)), ("1", (1, 0)), ("1.0.5", (1, 0)), ("x", None)]
)
def test_a_series_is_the_first_two_numbers(version: str, expected: tuple[int, int] | None) -> None:
    assert series(version) == expected


@given(st.text(max_size=20))
@example(">=1.0,")
@example("")
@example(",")
@example(">=1 .0")
@example("==1.*")
@example("!=1.0")
def test_a_range_is_read_or_refused(text: str) -> None:
    try:
        found = clauses(text)
    except ValueError as error:
        refused = str(error)
        assert "expected a range of versions" in refused
    else:
        assert all(sign in (">=", "<=", "==", ">", "<") for sign, _ in found)
        assert SpecifierSet(text)


@given(RANGES, st.lists(RANGES, max_size=3), st.lists(PLAIN, max_size=5))
def test_gaps_are_found_where_a_version_shows_one(
    text: str, others: list[str], versions: list[str]
) -> None:
    shown = any(
        within(version, text) and not any(within(version, each) for each in others)
        for version in versions
    )

    assert gaps(text, others) or not shown


@given(RANGES, st.lists(RANGES, max_size=3))
def test_a_gap_has_a_version_that_shows_it(text: str, others: list[str]) -> None:
    ends = ["0", *(end for each in (text, *others) for _, end in clauses(each))]
    # Just above each end: nothing written here has eight numbers.
    ends += [f"{end}{'.0' * (7 - len(end.split('.')))}.1" for end in ends]
    shown = any(
        within(version, text) and not any(within(version, each) for each in others)
        for version in ends
    )

    assert gaps(text, others) is shown


@pytest.mark.parametrize(
    ("text", "others", "expected"),
    [
        (">=1,<2", [], True), (">=2,<1", [], False), (">1,<1.0.0", [], False),
        ("==1.5", [">=1,<2"], False), (">=1,<2", ["==1.5"], True), (">=1,<=2", [">=1,<2"], True),
        (">=1,<2", [">=1,<1.5", ">=1.5,<2"], False), (">=1,<2", [">=1,<1.5", ">1.5,<2"], True),
        ("<1", [">=0"], False), (">=0", ["<1", ">=1"], False),
    ],
)  # fmt: skip
def test_the_gaps_of_a_few_ranges(text: str, others: list[str], expected: bool) -> None:
    assert gaps(text, others) is expected
