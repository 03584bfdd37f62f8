from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.model.artifact import Artifact, check_file_name
from vvbuild.model.digest import Digest
from vvbuild.model.lock import Lock
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Target


@pytest.mark.parametrize(
    "name",
    [
        "onnxruntime-1.23.2-cp311-cp311-win_amd64.whl",
        "音声モデル.vvm",
        "café.txt",
        "a",
        "console.log",
        "com10.txt",
        "nulls",
        "a b.txt",
        ".hidden",
        "x" * 255,
    ],
)
def test_a_plain_name_is_kept(name: str) -> None:
    assert check_file_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "/a",
        "a\\b",
        "C:a",
        "../a",
        "a?",
        "a*",
        "a|b",
        "<a>",
        'a"b',
        "a.",
        "a ",
    ],
)
def test_paths_and_what_windows_forbids_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a plain file name"):
        check_file_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "CON", "con", "PRN.txt", "aux.tar.gz", "NUL", "nul.", "COM1", "com9.zip", "LPT0", "lpt¹.x",
        "CON .txt", "CONIN$", "conout$",
    ],
)  # fmt: skip
def test_names_of_windows_devices_are_refused(name: str) -> None:
    with pytest.raises(ValueError):
        check_file_name(name)


@pytest.mark.parametrize(
    "character",
    [
        "\x00",
        "\n",
        "\r",
        "\t",
        "\x1b",
        "\x7f",
        "\x85",
        "\x9b",
        "\u2028",
        "\u202e",
        "\u2066",
        "\u200f",
        "\ud800",
    ],
)
def test_characters_that_act_on_a_reader_are_refused(character: str) -> None:
    with pytest.raises(ValueError, match="not a plain file name"):
        check_file_name(f"a{character}b")


def test_a_decomposed_name_is_refused() -> None:
    """macOS and the others would disagree about whether it is the same file."""
    with pytest.raises(ValueError, match="NFC"):
        check_file_name(unicodedata.normalize("NFD", "ガ.vvm"))


@pytest.mark.parametrize("name", ["x" * 256, "あ" * 86])
def test_a_name_longer_than_a_directory_entry_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="too long"):
        check_file_name(name)


@given(st.text(st.characters(codec=None, categories=None)))
def test_any_name_is_kept_as_it_is_or_refused(name: str) -> None:
    try:
        checked = check_file_name(name)
    except ValueError:
        return
    assert checked == name
    assert "/" not in name
    assert "\\" not in name
    assert len(name.encode()) <= 255


def artifact(name: str, *targets: str, component: str = "core", **changes: object) -> Artifact:
    facts: dict[str, object] = {
        "version": "1",
        "references": (),
        "sha256": Digest.of_bytes(name.encode()),
        "size": ByteSize(1),
    }
    return Artifact(name=name, component=component, targets=targets, **{**facts, **changes})


def test_the_limit_is_the_size_or_the_largest_size() -> None:
    assert artifact("a").limit == 1
    assert artifact("a", size=None, max_size=ByteSize(9)).limit == 9


def test_a_lock_gives_what_a_target_needs_in_its_own_order() -> None:
    linux, windows = Target.parse("linux-x64-cpu"), Target.parse("win-x64-cpu")
    both = artifact("z", str(linux), str(windows))
    only = artifact("a", str(linux), component="cuda")
    other = artifact("b", str(windows))
    lock = Lock("r", Digest.of_bytes(b""), (both, only, other))

    assert lock.for_target(linux) == (both, only)
    assert lock.for_target(windows) == (both, other)
    assert lock.for_target(Target.parse("macos-x64-cpu")) == ()
    assert lock.component("cuda", linux) == (only,)
    assert lock.component("cuda", windows) == ()
