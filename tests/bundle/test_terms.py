"""Texts that must be accepted: shown, remembered by digest, and never accepted by chance."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from vvbuild.bundle.terms import LOCKED, Acceptance, default_ledger
from vvbuild.errors import TermsError, UsageError
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize

TEXTS = {Digest.of_bytes(text.encode()): text for text in ("利用規約\n一。\n", "Terms\n")}
FIRST, SECOND = TEXTS


def artifact(name: str, terms: Digest | None) -> Artifact:
    return Artifact(
        name, "models", "1.0", (Reference.parse(f"https://host.example/{name}"),),
        Digest("0" * 64), ByteSize(1), terms=terms,
    )  # fmt: skip


FILES = (
    artifact("a.vvm", FIRST), artifact("b.vvm", FIRST), artifact("c.tgz", SECOND),
    artifact("d.zip", None),
)  # fmt: skip


@pytest.fixture
def accept(tmp_path: Path) -> Callable[..., Acceptance]:
    return lambda *accepts: Acceptance(accepts, tmp_path / "state" / "accepted.json")


def test_what_nobody_accepted_is_shown_with_the_files_it_is_about(accept) -> None:
    with pytest.raises(TermsError) as caught:
        accept().require(FILES, TEXTS.__getitem__)

    assert caught.value.exit_status == 6
    assert caught.value.context == {
        f"terms {FIRST}": "for a.vvm, b.vvm:\n利用規約\n一。",
        f"terms {SECOND}": "for c.tgz:\nTerms",
    }
    assert "--accept-terms" in str(caught.value.hint)
    assert not accept().ledger.exists()


def test_files_without_terms_ask_for_nothing(accept) -> None:
    texts, consent = accept().require(FILES[-1:], TEXTS.__getitem__)
    assert (texts, consent.texts) == ((), ())


def test_all_in_the_lock_or_certain_ones_can_be_accepted(accept) -> None:
    texts, consent = accept(FIRST.hex, SECOND.hex).require(FILES, TEXTS.__getitem__)
    assert [each.sha256 for each in texts] == [FIRST, SECOND]
    assert consent.texts == tuple(TEXTS.values())
    assert consent.digests == {FIRST, SECOND}

    assert accept(LOCKED).require(FILES, TEXTS.__getitem__)[0] == texts


def test_another_text_than_the_accepted_one_is_asked_for(accept) -> None:
    with pytest.raises(TermsError) as caught:
        accept(FIRST.hex).require(FILES, TEXTS.__getitem__)
    assert list(caught.value.context) == [f"terms {SECOND}"]


def test_consent_is_remembered_by_digest_and_no_further(accept) -> None:
    accept(LOCKED).require(FILES[:1], TEXTS.__getitem__)

    accept().require(FILES[:2], TEXTS.__getitem__)
    with pytest.raises(TermsError):
        accept().require(FILES, TEXTS.__getitem__)
    assert json.loads(accept().ledger.read_text())["accepted"] == [FIRST.hex]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"accepted": 3}', '{"accepted": [1]}'])
def test_a_ledger_that_is_none_has_accepted_nothing(accept, content: str) -> None:
    accept().ledger.parent.mkdir()
    accept().ledger.write_text(content)

    with pytest.raises(TermsError):
        accept().require(FILES, TEXTS.__getitem__)
    accept(LOCKED).require(FILES, TEXTS.__getitem__)
    accept().require(FILES, TEXTS.__getitem__)


@pytest.mark.parametrize("text", ["yes", "", "0" * 63])
def test_what_is_no_digest_is_a_wrong_use(accept, text: str) -> None:
    with pytest.raises(UsageError, match="SHA-256"):
        accept(text).require(FILES, TEXTS.__getitem__)


def test_where_consent_is_kept_can_be_said(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VVBUILD_STATE_DIR", str(tmp_path))
    assert default_ledger() == tmp_path / "accepted-terms.json"
    monkeypatch.delenv("VVBUILD_STATE_DIR")
    assert default_ledger().name == "accepted-terms.json"
