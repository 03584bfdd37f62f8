from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.model.terms import MOST_BYTES, decode_terms, terms_text


@pytest.mark.parametrize(
    "text",
    [
        "a\n\n b", "a\n\n b\n", "a\r\n\r\n b\r\n", "a\r\r b\r", "\ufeffa\n\n b",
        "a  \n\t\n b \t\n\n\n",
    ],
)  # fmt: skip
def test_line_ends_and_blanks_before_them_make_no_other_text(text: str) -> None:
    assert terms_text(text) == "a\n\n b\n"


def test_what_people_see_makes_another_text() -> None:
    assert len({terms_text(text) for text in ("a b", "a  b", " a b", "a\nb", "\na b", "A b")}) == 6


@pytest.mark.parametrize("text", ["", "\n \t\r\n", "a\0b", "あ" * (MOST_BYTES // 3 + 1)])
def test_what_nobody_could_read_is_no_text(text: str) -> None:
    with pytest.raises(ValueError, match="it "):
        terms_text(text)


@pytest.mark.parametrize("data", [b"\xff", "規約".encode("cp932"), "a".encode("utf-16")])
def test_other_encodings_are_no_text(data: bytes) -> None:
    with pytest.raises(ValueError, match="not UTF-8"):
        decode_terms(data)


def test_a_megabyte_of_blanks_takes_no_time() -> None:
    assert terms_text(" " * (MOST_BYTES - 2) + "x").endswith("x\n")


@given(st.text())
def test_the_form_is_canonical(text: str) -> None:
    try:
        once = terms_text(text)
    except ValueError:
        return
    assert terms_text(once) == terms_text(once.replace("\n", "\r\n")) == once
    assert decode_terms(once.encode()) == once
