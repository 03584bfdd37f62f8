from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.manifest.conftest import edited, line_of
from vvbuild.errors import ManifestError
from vvbuild.manifest.inherit import merge
from vvbuild.manifest.release import LoadedRelease, load_release

HEAD = 'schema = "vvbuild.release/1"\nname = "next"\nsummary = "The next"\n'


@pytest.fixture
def follow(tmp_path: Path, tiny: str):
    """Load a release that extends the tiny one, or another text called ``tiny.toml``."""

    def follow(
        text: str, base: str = tiny, head: str = HEAD + 'extends = "tiny"\n'
    ) -> LoadedRelease:
        (tmp_path / "tiny.toml").write_text(base)
        (tmp_path / "next.toml").write_text(head + text)
        return load_release(tmp_path / "next.toml")

    return follow


def refused(follow, *words: str, **options: str) -> str:
    with pytest.raises(ManifestError) as caught:
        follow(*words, **options)
    assert caught.value.exit_status == 2
    return caught.value.message


def test_a_release_says_only_what_differs(follow) -> None:
    loaded = follow('[engine]\nversion = "0.2.0"\n[components.onnxruntime]\nversion = "1.24.0"\n')

    assert (loaded.name, loaded.row.summary) == ("next", "The next")
    assert loaded.row.engine.version == "0.2.0"
    assert loaded.row.engine.recipe == "sample"
    assert loaded.row.components["onnxruntime"].source == "pypi"
    assert [item.name for item in loaded.artifacts] == ["linux-1.24.0.whl", "win.whl"]


def test_a_list_is_replaced_as_a_whole(follow) -> None:
    loaded = follow('targets = ["linux-x64-cpu"]\n')

    assert loaded.row.targets == ["linux-x64-cpu"]
    assert [item.name for item in loaded.artifacts] == ["linux-1.23.2.whl"]


def test_other_pins_are_other_pins(follow) -> None:
    same = follow("")
    other = follow('[components.onnxruntime]\nversion = "1.24.0"\n')

    assert same.pins_digest != other.pins_digest


def test_a_name_is_never_inherited(follow) -> None:
    message = refused(follow, "", head='schema = "vvbuild.release/1"\nextends = "tiny"\n')

    assert "the key 'name' is missing" in message
    assert "the key 'summary' is missing" in message


def test_a_mistake_is_shown_in_the_file_that_makes_it(follow, tiny: str, tmp_path: Path) -> None:
    base = edited(tiny, 'version = "1.23.2"', "version = 1")

    message = refused(follow, '[engine]\nsorce = "x"\n', base=base)

    assert f"{tmp_path / 'next.toml'}:6: engine.sorce: unknown key" in message
    line = line_of(base, "version = 1")
    assert f"{tmp_path / 'tiny.toml'}:{line}: components.onnxruntime.version: " in message


def test_what_is_extended_must_be_there(follow, tmp_path: Path) -> None:
    message = refused(follow, "", head=HEAD + 'extends = "tinny"\n')

    assert f"{tmp_path / 'next.toml'}:4: extends: " in message
    assert "There is no release 'tinny'; did you mean tiny?" in message


@pytest.mark.parametrize(
    "value",
    ['"../tiny"', '"tiny.toml"', '"/etc/passwd"', '""', '"\\u0000"', f'"{"x" * 5000}"', "1", "[]"],
)
def test_only_a_name_can_be_extended(value: str, follow) -> None:
    assert "extends: There is no release" in refused(follow, "", head=f"{HEAD}extends = {value}\n")


def test_a_circle_is_named(follow, tiny: str) -> None:
    message = refused(follow, "", base=edited(tiny, "summary =", 'extends = "next"\nsummary ='))

    assert "extends: goes in a circle: next → tiny → next" in message
    assert "goes in a circle" in refused(follow, "", head=HEAD + 'extends = "next"\n')


def test_what_is_extended_is_read_as_strictly(follow, tmp_path: Path) -> None:
    assert f"{tmp_path / 'tiny.toml'}:1:5: " in refused(follow, "", base="a = \n")


TABLES = st.recursive(
    st.integers() | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
ROOTS = st.dictionaries(st.sampled_from("abc"), TABLES, max_size=3)


@given(ROOTS, ROOTS)
def test_nothing_that_is_merged_is_changed(one: dict, two: dict) -> None:
    before = (repr(one), repr(two))

    merged = merge(one, two)

    assert (repr(one), repr(two)) == before
    assert set(merged) == {*one, *two}
    assert merge(merged, two) == merged
    assert merge(one, {}) == one
    assert merge({}, two) == two
