"""A release with an artifact that nobody has locked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Said
from tests.server.http import LoopbackServer
from vvbuild import resources
from vvbuild.host.freezing import freezable
from vvbuild.manifest.release import find_release
from vvbuild.manifest.targets import find_target, host_platform

Say = Callable[..., Said]
TARGET = f"{host_platform()}-cpu"
WHEEL = b"a wheel " * 100

pytestmark = pytest.mark.skipif(
    not freezable(find_target(TARGET)), reason="nothing can be planned here"
)


@pytest.fixture
def unlocked(
    tmp_path: Path, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The sample as a release of one's own, in whose lock one file has no digest; its name."""
    directory = tmp_path / "own"
    (directory / "releases").mkdir(parents=True)
    (directory / "locks").mkdir()
    (directory / "releases/mine.toml").write_text(
        'schema = "vvbuild.release/1"\nname = "mine"\nsummary = "x"\nextends = "sample"\n'
    )
    packaged = resources.manifests_dir() / "locks/sample.lock.json"
    monkeypatch.setenv("VVBUILD_MANIFESTS", str(directory))
    resources.lay_over(directory)
    lock = json.loads(packaged.read_bytes())
    lock["release"] = "mine"
    lock["manifest_sha256"] = find_release("mine").pins_digest.hex
    (row,) = [
        each
        for each in lock["artifacts"]
        if each["component"] == "onnxruntime" and TARGET in each["targets"]
    ]
    del row["sha256"], row["size"]
    row |= {"unlocked": "nobody knows it", "max_size": 1 << 20}
    (directory / "locks/mine.lock.json").write_text(json.dumps(lock))
    monkeypatch.setenv("PIP_INDEX_URL", server.pypi("onnxruntime", {row["name"]: WHEEL}))
    yield row["name"]
    resources.lay_over(None)


def test_it_stops_with_status_4_and_names_the_command_that_mends_it(
    unlocked: str, say: Say
) -> None:
    error = say("plan", "-t", TARGET, "-r", "mine", "--json", "-q").document["error"]

    assert (error["code"], error["exit"]) == ("lock-invalid", 4)
    assert error["context"][unlocked] == "nobody knows it"
    assert "`vvbuild lock --release mine --manifests " in error["hint"]
    assert "--allow-unlocked" in error["hint"]


def test_it_is_taken_as_it_is_where_that_is_allowed(unlocked: str, say: Say) -> None:
    said = say("plan", "-t", TARGET, "-r", "mine", "--allow-unlocked", "--json")

    assert said.status == 0
    assert f"{unlocked} is not locked; taken as it is now (index of pypi)" in said.err
    (artifact,) = [each for each in json.loads(said.out)["artifacts"] if each["name"] == unlocked]
    assert artifact["sha256"] == hashlib.sha256(WHEEL).hexdigest()


def test_no_environment_can_allow_it(
    unlocked: str, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VVBUILD_ALLOW_UNLOCKED", "1")

    assert say("plan", "-t", TARGET, "-r", "mine", "-q").status == 4
