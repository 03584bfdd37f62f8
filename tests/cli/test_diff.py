"""`vvbuild diff`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Said

Say = Callable[..., Said]


def test_that_something_differs_is_no_failure(say: Say) -> None:
    said = say("diff", "0.25.1", "0.25.2")

    assert said.status == 0
    assert said.out.startswith("0.25.1 → 0.25.2\n")
    assert "  ~ models 0.16.3 → 0.16.4\n" in said.out


def test_differences_for_programs(say: Say) -> None:
    document = say("diff", "0.25.1", "0.25.2", "--json").document

    assert document["command"] == "diff"
    assert document["identical"] is False
    assert {"key": "models.version", "before": "0.16.3", "after": "0.16.4"} in [
        {key: each[key] for key in ("key", "before", "after")} for each in document["pins"]
    ]


def test_the_same_release_twice(say: Say) -> None:
    said = say("diff", "main", "main")

    assert said.status == 0
    assert "Nothing differs between main and main." in said.out
    assert say("diff", "main", "main", "--json").document["identical"] is True


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0.25.1", "0.25.3"], "There is no release '0.25.3'"),
        (["0.25.1", "out/engine.vvpp"], "only releases can be compared"),
        (["0.25.1"], "Missing argument"),
        (["nowhere.toml", "0.25.1"], "nowhere.toml: there is no such file"),
    ],
)
def test_wrong_use_is_told(words: list[str], message: str, say: Say) -> None:
    said = say("diff", *words)

    assert said.status == 2
    assert said.out == ""
    assert message in said.err


def test_a_fork_is_compared_with_what_it_extends(say: Say) -> None:
    Path("vvbuild.toml").write_text(
        'schema = "vvbuild.release/1"\nname = "fork"\nsummary = "A fork"\nextends = "0.25.2"\n'
        '[components.models]\nversion = "0.16.3"\n'
    )
    document = say("diff", "0.25.2", "vvbuild.toml", "--json").document

    assert [each["key"] for each in document["pins"]] == ["models.version"]
    # It has no lock of its own yet.
    assert [each["release"] for each in document["problems"]] == ["fork"]
