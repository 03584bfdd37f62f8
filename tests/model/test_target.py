from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.model.target import ARCHES, DEVICES, OSES, Platform, Target

TARGETS = st.builds(
    Target, st.sampled_from(OSES), st.sampled_from(ARCHES), st.sampled_from(DEVICES)
)


@given(TARGETS)
def test_a_target_is_read_as_it_is_written(target: Target) -> None:
    assert Target.parse(str(target)) == target
    assert Platform.parse(str(target.platform)) == target.platform


@pytest.mark.parametrize("kind", [Target, Platform])
@given(text=st.text())
def test_any_text_is_read_as_it_stands_or_refused(kind, text: str) -> None:
    with suppress(ValueError):
        assert str(kind.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    ["win-x64", "win-x64-cpu-", "-x64-cpu", "WIN-x64-cpu", "linux-x64-cpu-extra", "win-x64-rocm"],
)
def test_near_misses_of_targets_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected \{win\|macos\|linux\}-\{x64\|arm64\}-"):
        Target.parse(text)


def test_only_names_of_the_table_are_a_platform() -> None:
    with pytest.raises(ValueError):
        Platform.parse("linux-x64-cpu")
