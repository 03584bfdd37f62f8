from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.model.size import ByteSize

UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


@given(st.integers(0, 10**20 - 1), st.sampled_from(sorted(UNITS)), st.sampled_from(["", " ", "  "]))
def test_whole_numbers_are_read_exactly(number: int, unit: str, gap: str) -> None:
    """Also those that a floating-point number cannot hold."""
    assert ByteSize.parse(f"{number}{gap}{unit}") == number * UNITS[unit]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("512", 512),
        ("9007199254740993", 9_007_199_254_740_993),
        ("99999999999999999999", 99_999_999_999_999_999_999),
        ("1900MiB", 1_992_294_400),
        ("1900 MiB", 1_992_294_400),
        ("1.5 GiB", 1_610_612_736),
        ("0.5KiB", 512),
        (" 2GiB ", 2 << 30),
    ],
)
def test_sizes_as_people_write_them(text: str, size: int) -> None:
    assert ByteSize.parse(text) == size


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "-1", "1.5", "1.5B", "1MB", "1 GB", "1kib", "1e3", "0x10", "١", "１２", "1,000",
        "1 MiB extra", ".5MiB", "5.MiB", "NaN", "inf", "1" * 5000, "0.1KiB", "1\nMiB\n1",
    ],
)  # fmt: skip
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        ByteSize.parse(text)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert ByteSize.parse(text) >= 0
    except ValueError:
        pass


def test_a_size_is_never_negative() -> None:
    with pytest.raises(ValueError, match="negative"):
        ByteSize(-1)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (150 << 10, "150 KiB"),
        (1_992_294_400, "1.9 GiB"),
        (5 << 40, "5.0 TiB"),
        (5000 << 40, "5000 TiB"),
    ],
)
def test_sizes_as_people_read_them(size: int, text: str) -> None:
    assert str(ByteSize(size)) == text


@given(st.integers(0, 1 << 60))
def test_what_people_read_is_near_the_truth(size: int) -> None:
    number, unit = str(ByteSize(size)).split(" ")

    assert abs(float(number) * UNITS[unit] - size) <= UNITS[unit]
