"""Ranges, and versions that stand for them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.explain.judging import (
    GPU_RULES,
    NOWHERE,
    chosen,
    nearest_ranges,
    oldest,
    unknown,
    verdict,
)
from vvbuild.explain.pinned import same_version
from vvbuild.manifest.compat import compat_tables
from vvbuild.model.version import within

NUMBERS = st.lists(st.integers(0, 30), min_size=1, max_size=3).map(
    lambda parts: ".".join(map(str, parts))
)
LOWER = st.builds(lambda sign, bound: f"{sign}{bound}", st.sampled_from([">=", ">"]), NUMBERS)
RANGES = st.one_of(LOWER, NUMBERS.map(lambda bound: f"=={bound}"), NUMBERS.map("<={}".format))


class Ranged(msgspec.Struct, frozen=True):
    versions: str


@given(RANGES)
def test_the_version_that_stands_for_a_range_lies_in_it(text: str) -> None:
    assert within(oldest(text), text)


def test_every_range_of_the_tables_has_one() -> None:
    tables = compat_tables()
    rows = [
        *tables.onnxruntime.cuda, *tables.onnxruntime.directml, *tables.onnxruntime.onnx,
        *tables.onnxruntime.missing, *tables.core.core, *tables.models.models,
        *tables.pyinstaller.pyinstaller, *tables.gpu.provider, *tables.troubles.trouble,
    ]  # fmt: skip

    assert [row.versions for row in rows if not within(oldest(row.versions), row.versions)] == []


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 3)), max_size=6), st.integers(0, 30))
def test_the_nearest_ranges_are_right_below_and_above(
    spans: list[tuple[int, int]], asked: int
) -> None:
    rows = [Ranged(f">={low},<{low + length}") for low, length in spans]
    near = nearest_ranges(rows, str(asked))
    starts = [int(oldest(text)) for text in near]

    assert len(near) <= 2
    assert set(near) <= {row.versions for row in rows}
    for low, _ in spans:
        # Nothing begins between what was named and what was asked for.
        assert not any(start < low <= asked or asked < low < start for start in starts)
    if spans:
        assert near
        assert all(text in unknown("x 1", rows, str(asked)) for text in near)
    else:
        assert unknown("x 1", rows, str(asked)).startswith("No table knows x 1, nor")


def test_the_first_row_that_fits_counts_as_for_the_rules() -> None:
    rows = [Ranged("==1.0"), Ranged(">=1,<2"), Ranged(">=2")]

    assert chosen(rows, "1.0") == (rows[0],)
    assert chosen(rows, "1.1") == (rows[1],)
    assert chosen(rows, "0.1") == ()
    assert chosen(rows, None) == tuple(rows)


@pytest.mark.parametrize(
    ("pins", "expected"),
    [
        ({"onnxruntime": "1.17.3", "cuda": "12.4.1"}, "fits"),
        ({"onnxruntime": "1.17.3", "cuda": "12.2.2"}, "fits, but cuda-built-newer-than-shipped"),
        ({"onnxruntime": "1.17.3", "cuda": "11.8.0"}, "does not fit: cuda-major"),
        # What is grave hides what is not.
        (
            {"onnxruntime": "1.17.3", "cuda": "12.2.2", "cudnn": "9.1"},
            "does not fit: cudnn-major",
        ),
    ],
)
def test_a_verdict_is_what_the_rules_say(pins: dict[str, str], expected: str) -> None:
    rules = ("cuda-major", "cudnn-major", "cuda-built-newer-than-shipped")

    assert verdict(rules, "cuda", pins, "voicevox") == expected


def test_b006_windows_is_told_apart_where_it_differs() -> None:
    pins = {"onnxruntime": "1.13.1", "cudnn": "8.4.1.50"}

    assert verdict(GPU_RULES, "cuda", pins, "microsoft") == (
        "fits; on Windows fits, but cudnn-below-recommended"
    )


@pytest.mark.parametrize(
    ("said", "nowhere"),
    [
        ("fits", False),
        ("fits, but x", False),
        ("does not fit: x", True),
        ("does not fit: x; on Windows fits, but y", False),
        ("does not fit: x; on Windows does not fit: y", True),
        ("fits; on Windows does not fit: y", False),
    ],
)
def test_what_fits_nowhere_is_recognised(said: str, nowhere: bool) -> None:
    assert bool(NOWHERE.match(said)) is nowhere


@pytest.mark.parametrize(
    ("pin", "asked", "same"),
    [
        ("12.8.1", "12.8", True),
        ("12.8.1", "12.8.1", True),
        ("12.8", "12.8.0", True),
        ("12.80.1", "12.8", False),
        ("12.8", "12.8.1", False),
        ("0.26.0-dev", "0.26.0-dev", True),
        ("0.26.0-dev", "0.26.0", True),
        ("8.9.2.26_cuda11", "8.9.2.26", True),
    ],
)
def test_a_pin_is_meant_by_the_beginning_of_its_version(pin: str, asked: str, same: bool) -> None:
    assert same_version(pin, asked) is same
