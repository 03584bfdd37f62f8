"""Wrong use: status 2, the nearest names, and one JSON document where it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Said
from vvbuild.cli.app import app
from vvbuild.cli.cache import cache
from vvbuild.manifest.targets import official_targets

Say = Callable[..., Said]
COMMANDS = [
    *((each.name,) for each in app.registered_commands),
    *(("cache", each.name) for each in cache.registered_commands),
]

WRONG = {
    "a command": (["targtes"], "No such command 'targtes'", "targets"),
    "a command of a group": (["cache", "ifno"], "No such command 'ifno'", "info"),
    "an option": (["targets", "--jsno"], "No such option", "--json"),
    "a value of an option": (["targets", "--format", "pliant"], "'pliant'", "plain"),
    "a number out of range": (
        ["bundle", "-t", "linux-x64-cpu", "--jobs", "0"], "'--jobs'", "1<=x<=64"
    ),
    "no target": (["bundle"], "Missing option '--target'", ""),
    "an option without its value": (["bundle", "--target"], "requires an argument", "--target"),
    "too many words": (["targets", "extra"], "unexpected extra argument", "extra"),
    "no path": (["verify"], "Missing argument", ""),
    "a target": (
        ["bundle", "--target", "linux-x64-gpu"], "There is no target 'linux-x64-gpu'.",
        "linux-x64-cpu",
    ),
    "a target to plan": (["plan", "-t", "windows-nvida"], "windows-nvida", "win-x64-cuda"),
    "a release": (
        ["bundle", "-t", "linux-x64-cpu", "--release", "smaple"], "There is no release 'smaple'",
        "sample",
    ),
    "a release to lock": (["lock", "--release", "../sample"], "'../sample'", "sample"),
    "an archive": (
        ["bundle", "-t", "linux-x64-cpu", "--archive", "vvpp,7zip"],
        "There is no archive format '7zip'", "7z",
    ),
    "a path": (["verify", "nowhere"], "There is nothing at nowhere", ""),
    "a target of a verified bundle": (["verify", ".", "-t", "beos"], "'beos'", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_wrong_use_is_told_with_what_was_meant(case: tuple[list[str], str, str], say: Say) -> None:
    words, message, nearest = case
    said = say(*words)

    assert said.status == 2
    assert said.out == ""
    assert message in said.err
    assert nearest in said.err
    assert said.err.startswith("error[")
    assert "Traceback" not in said.err
    assert list(Path.cwd().iterdir()) == []


ASKS = (["--json"], ["--format", "json"], ["--format=json"])
FOR_PROGRAMS = [
    pytest.param(words, asks, message, id=f"{name}, {' '.join(asks)}")
    for name, (words, message, _) in WRONG.items()
    for asks in ASKS
    # Where the option that asks is the one that is wrong, the other one has to ask.
    if "--format" not in words or asks == ["--json"]
]


@pytest.mark.parametrize(("words", "asks", "message"), FOR_PROGRAMS)
def test_wrong_use_for_programs_is_one_document(
    words: list[str], asks: list[str], message: str, say: Say
) -> None:
    # In front of an option that lacks its value, or it would be taken for that.
    at = len(words) - 1 if words[-1] == "--target" else len(words)
    words = [*words[:at], *asks, *words[at:]]
    said = say(*words)

    assert said.status == 2
    document = said.document
    assert document["schema"] == "vvbuild.output/1"
    assert document["ok"] is False
    assert set(document["error"]) == {"code", "exit", "message", "context", "hint"}
    assert document["error"]["exit"] == 2
    assert message in document["error"]["message"]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_command_explains_itself_with_an_example(
    command: tuple[str, ...], flag: str, say: Say
) -> None:
    said = say(*command, flag)

    assert said.status == 0
    assert said.err == ""
    assert said.out.startswith(f"Usage: vvbuild {' '.join(command)} ")
    assert f"Example: vvbuild {' '.join(command)}" in said.out
    for option in ("--json", "--quiet", "--verbose", "--no-color", "--format"):
        assert option in said.out


def test_help_lists_every_command(say: Say) -> None:
    said = say("--help")

    assert said.status == 0
    for command in COMMANDS:
        assert f"\n  {command[0]} " in said.out


@pytest.mark.parametrize("words", [[], ["cache"]], ids=["nothing", "a group"])
def test_who_says_nothing_is_shown_the_help(words: list[str], say: Say) -> None:
    said = say(*words)

    assert said.status == 2
    assert said.out == ""
    assert said.err.startswith("Usage: vvbuild ")
    assert "error[" not in said.err


def test_the_version_is_told(say: Say) -> None:
    from vvbuild import __version__

    assert say("--version") == Said(0, f"vvbuild {__version__}\n", "")


# Options from the environment


def test_an_option_can_come_from_the_environment(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VVBUILD_TARGET", "beos-x64-cpu")
    assert "'beos-x64-cpu'" in say("plan").err

    # What is typed counts more.
    assert "'os2-x64-cpu'" in say("plan", "--target", "os2-x64-cpu").err


def test_json_can_come_from_the_environment(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VVBUILD_JSON", "1")

    assert say("targets").document["ok"] is True


def test_a_wrong_value_from_the_environment_is_wrong_use(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VVBUILD_JOBS", "many")

    said = say("bundle", "-t", "linux-x64-cpu")
    assert said.status == 2
    assert "many" in said.err


# What is listed


def test_targets_for_programs(say: Say) -> None:
    document = say("targets", "--json").document

    assert document["command"] == "targets"
    assert [row["name"] for row in document["targets"]] == [
        str(each) for each in official_targets()
    ]


def test_releases_for_programs(say: Say) -> None:
    document = say("releases", "--json").document

    assert "sample" in [row["name"] for row in document["releases"]]


def test_a_new_store_is_empty_and_can_be_cleaned(say: Say, tmp_path: Path) -> None:
    assert say("cache", "info", "--json").document["size"] == 0
    document = say("cache", "clean", "--json").document

    assert document["command"] == "cache clean"
    assert document["root"] == str(tmp_path / "store")


def test_a_directory_that_is_no_store_is_not_cleaned(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis").write_text("mine")
    monkeypatch.setenv("VVBUILD_CACHE_DIR", str(tmp_path / "home"))

    assert say("cache", "clean").status == 2
    assert (tmp_path / "home/thesis").read_text() == "mine"


def test_quiet_says_nothing_of_success(say: Say) -> None:
    assert say("targets", "-q") == Said(0, "", "")
    assert say("verify", "nowhere", "-q").err.startswith("error[usage]")
