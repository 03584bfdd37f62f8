from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.report.sanitize import clean, clean_lines

ANYTHING = st.text(st.characters(codec=None, categories=None))


def commands_of_github(line: str) -> bool:
    """Whether GitHub's runner would obey: `::` behind white space, or `##[` anywhere."""
    return line.lstrip().startswith("::") or "##[" in line


@given(ANYTHING)
def test_nothing_that_acts_on_a_reader_is_left(text: str) -> None:
    safe = clean(text)

    assert not any(unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") for each in safe)
    assert len(safe.splitlines()) <= 1
    assert not commands_of_github(safe)


@given(
    st.text(st.characters(categories=("L", "N", "P", "S", "Zs")).filter(lambda c: c not in ":#"))
)
def test_text_that_is_safe_is_kept(text: str) -> None:
    assert clean(text) == text


@given(ANYTHING)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("exe.\u202etxt", "exe.\\u202etxt"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("one\ntwo\rthree", "one\\x0atwo\\x0dthree"),
        ("one\u2028two\x85three", "one\\u2028two\\x85three"),
        ("a\tb", "a    b"),
        ("caf\udce9", "caf\\udce9"),
        ("音声モデル.vvm", "音声モデル.vvm"),
        ("::error file=a::b", "\\x3a:error file=a::b"),
        ("  ::error::b", "  \\x3a:error::b"),
        ("\u3000::error::b", "\u3000\\x3a:error::b"),
        (":::error", "\\x3a::error"),
        ("said ##[error] here", "said \\x23#[error] here"),
        ("###[x", "#\\x23#[x"),
        ("std::vector and a::b", "std::vector and a::b"),
        ("# a heading", "# a heading"),
    ],
)
def test_what_is_dangerous_is_shown_as_an_escape(text: str, safe: str) -> None:
    assert clean(text) == safe


def test_lines_are_cleaned_one_by_one() -> None:
    assert clean_lines("a\r\n::error\n\x1b[0m") == ["a", "\\x3a:error", "\\x1b[0m"]
