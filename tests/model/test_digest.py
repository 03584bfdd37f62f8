from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.model.digest import Digest, canonical_json

HEX = st.text("0123456789abcdef", min_size=64, max_size=64)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(HEX)
def test_a_digest_is_its_hexadecimal_text(text: str) -> None:
    assert str(Digest(text)) == text
    assert Digest(text).short == text[:12]
    assert Digest(text) == Digest(text)


@given(st.text(max_size=70).filter(lambda text: not _is_hex(text)))
def test_what_is_no_digest_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="64 lower-case hexadecimal"):
        Digest(text)


def _is_hex(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


@pytest.mark.parametrize(
    "text", ["A" * 64, "a" * 63, "a" * 65, "a" * 64 + "\n", "sha256:" + "a" * 64]
)
def test_near_misses_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Digest(text)


@given(st.binary())
def test_a_digest_of_bytes_is_their_sha256(data: bytes) -> None:
    assert Digest.of_bytes(data).hex == hashlib.sha256(data).hexdigest()


@given(JSON)
def test_canonical_json_is_json(value: object) -> None:
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(st.text(), JSON, min_size=2), st.randoms())
def test_the_order_of_keys_does_not_change_a_digest(value: dict[str, object], random) -> None:
    items = list(value.items())
    random.shuffle(items)

    assert Digest.of_json(dict(items)) == Digest.of_json(value)


def test_the_order_of_items_does_change_a_digest() -> None:
    assert Digest.of_json([1, 2]) != Digest.of_json([2, 1])
