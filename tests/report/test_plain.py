from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from vvbuild.report.document import Block, Line, Pairs, Table
from vvbuild.report.plain import display_width, fit, render
from vvbuild.report.terminal import show

HOSTILE = "\x1b[31m\n::error::x\u202e"
CELLS = st.text(max_size=12)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("音声", 4),
        ("ｶﾅ", 2),
        ("e\u0301", 1),
        ("ｆ", 2),
        ("", 0),
        ("ภาษา", 4),
        ("กี", 1),
        ("😀", 2),
    ],
)  # fmt: skip
def test_the_width_is_what_a_terminal_needs(text: str, width: int) -> None:
    assert display_width(text) == width


@given(st.text(), st.integers(1, 20), st.booleans())
def test_a_cell_has_exactly_its_width(text: str, width: int, right: bool) -> None:
    assert display_width(fit(text, width, right=right)) == width


def test_a_cell_that_is_cut_says_so() -> None:
    assert fit("abcdef", 4) == "abc…"
    assert fit("音声音声", 4) == "音… "
    assert fit("abc", 5, right=True) == "  abc"


def test_a_megabyte_is_cut_at_once() -> None:
    assert fit("音" * 1_000_000, 5) == "音音…"


@pytest.mark.parametrize("width", [40, 80, 160])
@given(rows=st.lists(st.tuples(CELLS, CELLS, st.text(max_size=300)), max_size=4))
def test_a_table_fits_where_its_widest_column_gives_way(
    width: int, rows: list[tuple[str, str, str]]
) -> None:
    rows = [(a[:3], b[:3], c) for a, b, c in rows]
    lines = render([Table(("a", "b", "c"), tuple(rows), shrink=2)], width).splitlines()

    assert len(lines) == len(rows) + 2
    # Escapes make cells longer, but each of the narrow ones at most 18 columns.
    assert all(display_width(line) <= max(width, 18 * 2 + 4 + 12) for line in lines)


def test_a_table_for_people(snapshot: SnapshotAssertion) -> None:
    table = Table(
        ("name", "size", "what"),
        (
            ("onnxruntime.whl", "16.6 MiB", "a wheel"),
            ("音声モデル.vvm", "1 B", "説明" * 30),
            ("x", "100 GiB", HOSTILE),
        ),
        right=(1,),
        shrink=2,
    )

    assert render([table], 80) == snapshot
    assert all(display_width(line) <= 80 for line in render([table], 80).splitlines())


def test_blocks_for_people(snapshot: SnapshotAssertion) -> None:
    blocks: list[Block] = [
        Line("A sentence.", "bad"),
        Line("Two\nlines."),
        Pairs((("key", "value"), ("長い鍵", "値"), ("hostile", HOSTILE))),
        Line(""),
        Line("The end.", "good"),
    ]

    assert render(blocks, 80) == snapshot


BLOCKS = st.one_of(
    st.builds(Line, st.text(), st.sampled_from(["", "good", "bad", "warn", "dim", "bold"])),
    st.builds(Pairs, st.lists(st.tuples(st.text(), st.text()), max_size=3).map(tuple)),
    st.builds(
        lambda rows: Table(("a", "b"), tuple(rows), (1,), 0),
        st.lists(st.tuples(st.text(), st.text()), max_size=3),
    ),
)


@given(st.lists(BLOCKS, max_size=4), st.integers(20, 200))
def test_no_block_lets_anything_act_on_its_reader(blocks: list[Block], width: int) -> None:
    text = render(blocks, width)

    assert not any(ord(each) < 32 and each != "\n" for each in text)
    assert "\x7f" not in text
    assert "\x9b" not in text
    for line in text.split("\n"):
        assert not line.lstrip().startswith("::")


@given(st.lists(BLOCKS, max_size=3))
def test_a_terminal_shows_it_without_control_of_its_own(blocks: list[Block]) -> None:
    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=False, width=80, highlight=False)
    show(blocks, console)

    assert not any(ord(each) < 32 and each != "\n" for each in stream.getvalue())


def test_markup_is_taken_literally() -> None:
    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80, color_system=None)
    text = "[bold]x[/bold] [/] [link=evil]y"
    show([Line(text), Pairs(((text, text),)), Table((text,), ((text,),))], console)

    assert stream.getvalue().count(text) == 5
