"""Names of files, as every system takes them."""

from __future__ import annotations

import unicodedata

import pytest

from tests.rules.bundle.good import GOOD, LINUX, MACOS, bundle, file, found, only, windows
from vvbuild.rules.data import PackedFacts


def test_b053_names_that_a_zip_does_not_mark_as_utf_8_are_one_finding() -> None:
    names = ("声/一.wav", "声/二.wav")
    files = [file(each, head=b"RIFF", size=99) for each in names]
    parts = {"e.vvpp": 3}
    garbled = PackedFacts("vvpp", parts, unmarked_names=names)

    finding = only(bundle(*files, seen={"packed": garbled}), "name-encoding")

    assert finding.message == "2 names are not marked as UTF-8 by the archive"
    assert found(bundle(*files, seen={"packed": PackedFacts("vvpp", parts)})) == []


@pytest.mark.parametrize("target", [LINUX, MACOS])
def test_b053_a_name_in_pieces_is_stopped(target) -> None:
    name = unicodedata.normalize("NFD", "ボイス.txt")
    paths = {each.path for each in [*GOOD, file(name)]}

    findings = [each for each in found(bundle(file(name), target=target)) if each[1] in paths]
    assert ("name-encoding", name) in findings
    assert found(bundle(file("ボイス.txt"))) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a:b", "holds :, which Windows refuses"),
        ("x/CON", "is a device's on Windows"),
        ("nul.txt", "is a device's on Windows"),
        ("x./y", "ends with a dot or a space"),
        ("a ", "ends with a dot or a space"),
        ("x\ny", "control character"),
    ],
)
def test_a_name_that_windows_refuses_is_stopped(name: str, words: str) -> None:
    assert words in only(windows(file(name)), "name-encoding").message


@pytest.mark.parametrize("name", ["a:b", "x/CON", "x./y", "console.txt"])
def test_other_systems_take_what_windows_refuses(name: str) -> None:
    assert found(bundle(file(name))) == []


def test_a_name_that_is_no_text_is_stopped() -> None:
    assert only(bundle(file("x\udcff")), "name-encoding").message == "is not UTF-8"


def test_two_names_that_are_one_on_windows_are_stopped() -> None:
    finding = only(windows(file("Lib/a"), file("lib/b"), file("lib/a")), "name-encoding")

    assert finding.message == "Lib, lib are one name on Windows"
    assert found(bundle(file("Lib/a"), file("lib/a"))) == []


def test_a_path_that_windows_does_not_take_is_stopped() -> None:
    """The room is what the editor's own folder leaves of 259 characters."""
    evidence = windows(file("x" * 240))
    room = int(only(evidence, "path-too-long").evidence["room"])

    assert found(windows(file("x" * room))) == []
    assert only(windows(file("x" * (room + 1))), "path-too-long").path == "x" * (room + 1)
    assert found(bundle(file("x" * 240))) == []


def test_a_long_name_of_the_engine_leaves_less_room() -> None:
    manifest = {"command": "run.exe", "name": "n" * 101}
    room = int(only(windows(file("x" * 240)), "path-too-long").evidence["room"])

    less = only(windows(file("x" * 240), manifest=manifest), "path-too-long").evidence["room"]
    assert int(less) == room - 100


def test_a_name_counts_in_bytes_on_linux_and_in_letters_elsewhere() -> None:
    name = "あ" * 86  # 258 bytes

    assert only(bundle(file(name)), "path-too-long").message == ("has a name longer than 255 bytes")
    assert found(windows(file("あ" * 60))) == []
