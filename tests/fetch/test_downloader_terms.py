"""Consent to a text counts for that text alone, however a pager draws it."""

from __future__ import annotations

import re
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.standins.world import MODEL_TERMS, ORT_TERMS
from vvbuild.fetch.downloader import Consent, terms_digest
from vvbuild.fetch.downloader.terms import plain
from vvbuild.manifest.downloader import find_contract

PROMPT = find_contract("0.17.0").generation.prompt
assert PROMPT is not None
BEFORE = [re.compile(each) for each in PROMPT.before]
LINE = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=20)
TEXT = st.lists(LINE, min_size=1, max_size=6).map("\n".join)


def covers(shown: str, *texts: str) -> bool:
    return Consent(texts=texts).covers(shown, BEFORE)


@pytest.mark.parametrize(
    "drawn",
    [
        ORT_TERMS,
        ORT_TERMS.replace("\n", "\r\n"),
        f"───────\n ONNX Runtime 利用規約 \n───────\n{ORT_TERMS}───────",
        textwrap.indent(ORT_TERMS, "  │ "),
        "".join(f"\x1b[33m{letter}\x1b[0m" for letter in ORT_TERMS),
        ORT_TERMS.replace("<すること>", "<す\nること>"),
        f"次の利用規約への同意が必要です。\n（矢印キーで移動）\n{ORT_TERMS}",
    ],
)
def test_the_same_text_is_known_in_any_frame(drawn: str) -> None:
    assert covers(drawn, ORT_TERMS, MODEL_TERMS)


def test_two_texts_need_consent_to_both() -> None:
    shown = f"音声モデル 利用規約\n{MODEL_TERMS}\nORT 利用規約\n{ORT_TERMS}"

    assert covers(shown, ORT_TERMS, MODEL_TERMS)
    assert not covers(shown, ORT_TERMS)
    assert not covers(shown, MODEL_TERMS)


@pytest.mark.parametrize("shown", ["", "\n", "利用規約", "────", "(y/n)"])
def test_a_frame_without_a_text_is_nothing_that_was_accepted(shown: str) -> None:
    assert not covers(shown, ORT_TERMS, "")


def test_no_consent_covers_nothing() -> None:
    assert not covers(ORT_TERMS)


@given(TEXT, TEXT)
def test_another_text_is_never_covered(accepted: str, shown: str) -> None:
    frame = any(pattern.fullmatch(line) for line in shown.split("\n") for pattern in BEFORE)
    if terms_digest(accepted) != terms_digest(shown) and not frame:
        repeated = "".join(shown.split()).replace("".join(accepted.split()), "") == ""
        assert repeated or not covers(shown, accepted)


@given(TEXT, LINE)
def test_a_line_that_somebody_adds_at_the_end_is_never_covered(accepted: str, line: str) -> None:
    if terms_digest(line) != terms_digest("") and terms_digest(line) != terms_digest(accepted):
        assert not covers(f"{accepted}\n{line}", accepted)


@given(TEXT)
def test_a_text_is_covered_by_itself_and_its_digest(text: str) -> None:
    if terms_digest(text) != terms_digest(""):
        assert covers(text, text)
        assert Consent(digests=frozenset({terms_digest(text)})).covers(text, [])


@given(st.text())
def test_a_plain_text_has_no_control_characters(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", plain(text))
