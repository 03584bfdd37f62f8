"""Sentences that are broken between words, and lines that never are."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from vvbuild.report.document import Line, Raw
from vvbuild.report.plain import display_width, render
from vvbuild.report.terminal import show

WORDS = st.lists(st.text("ab音:#[", min_size=1, max_size=8), min_size=1, max_size=30)


@pytest.mark.parametrize("width", [20, 80])
@given(words=WORDS, hang=st.integers(0, 6))
def test_a_broken_sentence_fits_and_loses_no_word(width: int, words: list[str], hang: int) -> None:
    lines = render([Line(" ".join(words), hang=hang)], width).splitlines()
    told = [word for line in lines for word in line.split()]

    assert [each.replace("\\x3a", ":").replace("\\x23", "#") for each in told] == words
    # An escape makes a word longer, once a line.
    assert all(display_width(line) <= width + 6 for line in lines)
    assert all(line.startswith(" " * hang) for line in lines[1:])


def test_columns_before_the_text_stay() -> None:
    text = render([Line("  name    one two three", hang=10)], 18)

    assert text == "  name    one two\n          three\n"


def test_a_word_that_comes_to_begin_a_line_is_no_order_to_a_log() -> None:
    lines = render([Line("aaaa ::error::x ##[error]y", hang=2)], 6).splitlines()

    assert lines == ["aaaa", "  \\x3a:error::x", "  \\x23#[error]y"]


def test_without_a_hang_a_sentence_is_left_alone() -> None:
    assert render([Line("a " * 60)], 20).count("\n") == 1


@pytest.mark.parametrize("width", [10, 40])
def test_a_raw_line_is_one_line_on_paper_and_on_a_terminal(width: int) -> None:
    text = "x" * 300 + " [bold]y[/bold] " + "z" * 300
    out = io.StringIO()
    show([Raw(text)], Console(file=out, force_terminal=True, width=width))

    assert render([Raw(text)], width) == f"{text}\n"
    assert out.getvalue() == f"{text}\n"


def test_a_raw_line_is_safe() -> None:
    assert render([Raw("\x1b[2Ja\nb")], 80) == "\\x1b[2Ja\\x0ab\n"


@given(text=st.text(), hang=st.integers(0, 6), width=st.integers(8, 80))
def test_no_break_lets_anything_act_on_its_reader(text: str, hang: int, width: int) -> None:
    shown = render([Line(text, hang=hang), Raw(text)], width)

    assert not any(ord(each) < 32 and each != "\n" for each in shown)
    for line in shown.split("\n"):
        assert not line.lstrip().startswith("::")
        assert "##[" not in line
