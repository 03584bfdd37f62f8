"""`plan`: everything that `bundle` would do, and nothing of it done."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Said
from vvbuild.manifest.targets import host_platform

Say = Callable[..., Said]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="plans for this machine")


@pytest.fixture
def plan(say: Say) -> Callable[..., dict]:
    def plan(*words: str) -> dict:
        said = say("plan", "-t", f"{host_platform()}-cpu", "--json", *words)
        if said.status == 5:
            pytest.skip(f"this machine cannot freeze: {said.document['error']['message']}")
        assert said.status == 0
        return said.document

    return plan


def test_a_plan_for_an_empty_store_does_everything_and_nothing_yet(
    plan: Callable[..., dict], tmp_path: Path
) -> None:
    document = plan()

    steps = document["steps"]
    assert {step["state"] for step in steps} == {"to do"}
    assert len({step["key"] for step in steps}) == len({step["name"] for step in steps})
    names = [step["name"] for step in steps]
    assert names.index("freeze") < names.index("assemble") < names.index("verify")
    assert document["download_bytes"] == sum(step["download"] for step in steps)
    assert document["download_bytes"] == sum(item["size"] for item in document["artifacts"])
    assert document["disk_bytes"] > document["download_bytes"]
    assert [path for path in (tmp_path / "store/v1/files").rglob("*") if path.is_file()] == []
    assert list(Path.cwd().iterdir()) == []


def test_the_same_plan_has_the_same_keys(plan: Callable[..., dict]) -> None:
    def keys() -> dict[str, str]:
        return {step["name"]: step["key"] for step in plan()["steps"]}

    assert keys() == keys()


def test_only_the_archives_that_are_wanted_are_planned(plan: Callable[..., dict]) -> None:
    archives = [
        step["name"]
        for step in plan("--archive", "vvpp")["steps"]
        if step["name"].startswith("archive ")
    ]

    assert archives == ["archive vvpp"]


def test_a_plan_for_people(plan: Callable[..., dict], say: Say) -> None:
    steps = len(plan()["steps"])
    lines = say("plan", "-t", f"{host_platform()}-cpu").out.splitlines()

    assert len(lines) == steps + 4
    assert lines[-1].startswith("sample (nothing else was asked for): ")
    assert f"{steps} of {steps} steps to do; to fetch: " in lines[-1]
