"""The block of terms in a release's text: Markdown with HTML in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.standins.notes import write_notes
from vvbuild.locking.notes import terms_block

OPEN, SHUT = "<pre data-voicevox-onnxruntime-terms><code>", "</code></pre>"


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1))
def test_the_block_says_what_its_author_wrote(text: str) -> None:
    rows = [("Linux", "x86_64", ["CPU"], "https://e.invalid/?a=1&b=2", "a.tgz")]

    assert terms_block(write_notes(rows, text)) == text
    assert terms_block(write_notes(rows, None)) is None


@pytest.mark.parametrize(
    ("body", "block"),
    [
        ("", None),
        ("a < b & <pre><code>x</code></pre>", None),
        ("<code data-voicevox-onnxruntime-terms>x</code>", None),
        ("<pre data-voicevox-onnxruntime-terms>x</pre>", None),
        (f"<!-- {OPEN}x{SHUT} -->", None),
        (f"<!-- {OPEN}x{SHUT} --> {OPEN}y{SHUT}", "y"),
        (f"{OPEN}{SHUT}", ""),
        (f"# a\r\n\r\n{OPEN}一\n\n&lt;b&gt; &amp; &#x3042;\n{SHUT}\n", "一\n\n<b> & あ\n"),
        (f"{OPEN.upper()}x{SHUT.upper()}", "x"),
        (f"a {OPEN}1 <b>2</b> <!-- 3 -->4{SHUT} b", "1 2 4"),
        (f"{OPEN}same{SHUT} and {OPEN}same{SHUT}", "same"),
        (f"<script> {OPEN}x{SHUT}", "x"),
        (f"<textarea><style>{OPEN}x{SHUT}", "x"),
    ],
)
def test_only_the_marked_block_counts(body: str, block: str | None) -> None:
    assert terms_block(body) == block


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (f"{OPEN}one{SHUT}{OPEN}two{SHUT}", "2 blocks"),
        (f"{OPEN}one", "never ends"),
        (f"{OPEN}one</code>", "never ends"),
    ],
)
def test_a_block_that_is_not_clear_is_refused(body: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        terms_block(body)
