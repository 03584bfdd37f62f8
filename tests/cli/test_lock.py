"""`vvbuild lock` on a GitHub on loopback, through a user's own manifests."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Said
from tests.locking.conftest import ARTIFACTS, COMPONENTS, CORE, FILES, LINUX, MODELS, VVM, WIN
from tests.locking.conftest import digest as digest_of
from tests.locking.worlds import manifest_of
from tests.manifest.conftest import tiny
from tests.server.github import LoopbackGitHub, limit_reached
from tests.server.http import LoopbackServer
from tests.standins.world import World
from vvbuild import resources

__all__ = ["tiny"]

Say = Callable[..., Said]
TOKEN = "ghp_a_secret"


@pytest.fixture
def hub(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> LoopbackGitHub:
    """A GitHub that this machine is configured to use, with a token."""
    github = LoopbackGitHub(server, storage=server)
    github.release(CORE, "0.16.2", FILES)
    github.release(VVM, "0.16.4", MODELS)
    monkeypatch.setenv("GITHUB_API_URL", github.api)
    monkeypatch.setenv("VVBUILD_GITHUB_URL", github.web)
    monkeypatch.setenv("PIP_INDEX_URL", server.url("/simple/"))
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    return github


@pytest.fixture
def own(tmp_path: Path, tiny: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of own manifests, with the release `tiny`."""
    head, _, _ = tiny.partition("[components.onnxruntime]")
    directory = tmp_path / "own manifests"
    (directory / "releases").mkdir(parents=True)
    (directory / "releases/tiny.toml").write_text(head + COMPONENTS + ARTIFACTS)
    monkeypatch.setenv("VVBUILD_MANIFESTS", str(directory))
    yield directory
    resources.lay_over(None)


def test_a_release_is_locked_among_the_own_manifests(
    hub: LoopbackGitHub, own: Path, say: Say
) -> None:
    document = say("lock", "--release", "tiny", "--json", "-q").document

    path = own / "locks/tiny.lock.json"
    assert document["ok"] is True
    assert document["path"] == str(path)
    assert document["changed"] == [LINUX, WIN, "9.vvm", "10.vvm"]
    assert document["artifacts"][0] == {
        "name": LINUX, "component": "core", "size": len(FILES[LINUX]),
        "sha256": digest_of(FILES[LINUX]), "unlocked": None,
    }  # fmt: skip
    assert document["changes"][0]["kind"] == "added"
    assert document["changes"][0]["before"] is None
    assert TOKEN not in path.read_text()
    again = say("lock", "--release", "tiny", "--json", "-q").document
    assert (again["changed"], again["changes"]) == ([], [])


def test_people_see_what_changed_and_how_many(hub: LoopbackGitHub, own: Path, say: Say) -> None:
    said = say("lock", "--release", "tiny", "-q", "--format", "plain")
    assert said.status == 0
    say("lock", "--release", "tiny")
    hub.replace(CORE, "0.16.2", LINUX, b"rebuilt")

    said = say("lock", "--release", "tiny", "--accept-drift", LINUX)

    assert said.status == 0
    assert f"changed  core       {LINUX}" in said.out
    assert f"{digest_of(FILES[LINUX])[:12]} → {digest_of(b'rebuilt')[:12]}" in said.out
    assert "4 artifacts, 1 changed, 3 unchanged" in said.out
    assert WIN not in said.out


def test_a_good_lock_passes_the_check(hub: LoopbackGitHub, own: Path, say: Say) -> None:
    say("lock", "--release", "tiny")

    document = say("lock", "-r", "tiny", "--check", "--json", "-q").document

    assert document["ok"] is True
    assert document["problems"] == []
    assert document["locks"][0]["compared"] == [LINUX, WIN, "9.vvm", "10.vvm"]
    assert "error" not in document


def test_b117_the_check_ends_with_4_and_says_which_asset_changed(
    hub: LoopbackGitHub, own: Path, say: Say
) -> None:
    say("lock", "--release", "tiny")
    hub.replace(CORE, "0.16.2", LINUX, b"rebuilt")

    said = say("lock", "-r", "tiny", "--check", "--json", "-q")

    assert said.status == 4
    document = said.document
    assert document["ok"] is False
    assert (document["error"]["code"], document["error"]["exit"]) == ("lock-drift", 4)
    (problem,) = document["problems"]
    assert (problem["release"], problem["kind"], problem["artifact"]) == (
        "tiny", "replaced", LINUX,
    )  # fmt: skip
    assert problem["locked"]["sha256"] == digest_of(FILES[LINUX])
    assert problem["server"] == {
        "sha256": digest_of(b"rebuilt"), "size": 7, "upload": "2026-01-02T03:04:05Z",
        "source": "GitHub release API",
    }  # fmt: skip
    plain = say("lock", "-r", "tiny", "--check")
    assert plain.status == 4
    assert f"tiny: {LINUX} [replaced]" in plain.out
    assert digest_of(b"rebuilt") in plain.out


def test_gaps_end_with_4_also_offline(hub: LoopbackGitHub, own: Path, say: Say) -> None:
    said = say("lock", "-r", "tiny", "--check", "--offline", "--json", "-q")

    assert said.status == 4
    assert said.document["error"]["code"] == "lock-invalid"
    assert [each["kind"] for each in said.document["problems"]] == ["no-lock"]
    assert hub.server.requests == []


def test_what_stays_unlocked_ends_with_4_and_is_a_gap_afterwards(
    hub: LoopbackGitHub, own: Path, say: Say
) -> None:
    hub.delete(VVM, "0.16.4")

    said = say("lock", "-r", "tiny", "--keep-going", "--json", "-q")

    assert said.status == 4
    assert said.document["error"]["code"] == "lock-invalid"
    assert list(said.document["error"]["context"]) == ["*.vvm"]
    assert [row["name"] for row in said.document["artifacts"]] == [LINUX, WIN, "*.vvm"]
    check = say("lock", "-r", "tiny", "--check", "--json", "-q")
    assert check.status == 4
    assert [each["artifact"] for each in check.document["problems"]] == ["*.vvm"]
    assert "*.vvm is not locked" in say("lock", "-r", "tiny", "--keep-going").out


def test_what_could_not_be_compared_is_told_although_it_stays_locked(
    hub: LoopbackGitHub, own: Path, say: Say
) -> None:
    say("lock", "--release", "tiny")
    hub.delete(CORE, "0.16.2")

    said = say("lock", "-r", "tiny", "--download", "--keep-going")

    assert said.status == 4
    assert f"{LINUX} stays as it was: Could not get the release 0.16.2 of {CORE}." in said.out
    assert "4 artifacts, 4 unchanged" in said.out


@pytest.mark.parametrize("words", [[], ["--check"]], ids=["lock", "check"])
def test_a_limit_of_requests_ends_with_3_and_tells_no_token(
    words: list[str], hub: LoopbackGitHub, own: Path, say: Say
) -> None:
    if words:
        say("lock", "--release", "tiny")
    hub.play(CORE, "0.16.2", always=limit_reached(3000))

    said = say("lock", "--release", "tiny", "--json", "-q", *words)

    assert said.status == 3
    assert said.document["error"]["code"] == "rate-limited"
    assert TOKEN not in said.out
    assert hub.server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_all_locks_are_checked_with_one_question_for_each_release(
    hub: LoopbackGitHub, own: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (own / "releases/tiny.toml").read_text()
    (own / "releases/twin.toml").write_text(text.replace('name = "tiny"', 'name = "twin"'))
    names = ("tiny", "twin")
    monkeypatch.setattr("vvbuild.manifest.release.release_names", lambda: names)
    for name in names:
        say("lock", "--release", name)
    asked = hub.asked(CORE, "0.16.2")

    document = say("lock", "--check", "--all", "--json", "-q").document

    assert document["ok"] is True
    assert [each["name"] for each in document["locks"]] == ["tiny", "twin"]
    assert hub.asked(CORE, "0.16.2") == asked + 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--all"], "--all goes with --check"),
        (["--check", "--keep-going"], "--check writes nothing"),
        (["--check", "--accept-drift", "x"], "--check writes nothing"),
        (["--check", "--tools", "--release", "tiny"], "exclude each other"),
        (["--check", "--all", "--release", "tiny"], "exclude each other"),
        (["--release", "tiny", "--accept-drift", "core-linux.zip"], LINUX),
    ],
)
def test_wrong_use_ends_with_2(
    words: list[str], message: str, hub: LoopbackGitHub, own: Path, say: Say
) -> None:
    said = say("lock", *words)

    assert said.status == 2
    assert message in said.err
    assert hub.server.requests == []


def test_drift_is_accepted_by_the_command_line_alone(
    hub: LoopbackGitHub, own: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    say("lock", "--release", "tiny")
    hub.replace(CORE, "0.16.2", LINUX, b"rebuilt")
    monkeypatch.setenv("VVBUILD_ACCEPT_DRIFT", LINUX)

    say("lock", "--release", "tiny")

    lock = json.loads((own / "locks/tiny.lock.json").read_bytes())
    assert lock["artifacts"][0]["sha256"] == digest_of(FILES[LINUX])


@pytest.mark.skipif(os.name == "nt", reason="archives are listed where modes are kept")
def test_downloading_lists_archives_on_the_stores_disk_and_texts_are_named(
    hub: LoopbackGitHub, own: Path, say: Say, tiny: str, tmp_path: Path
) -> None:
    place = tmp_path / "world"
    place.mkdir()
    world = World(hub, "0.17.0", place).publish()
    (own / "releases/tiny.toml").write_text(manifest_of(world, tiny))
    first = say("lock", "-r", "tiny", "--json", "-q").document
    assert len(first["terms"]) == 2
    assert {Path(path).parent for path in first["terms"].values()} == {own / "locks/terms"}

    said = say("lock", "-r", "tiny", "--download", "--json", "-q")

    core = next(it for it in said.document["changes"] if it["name"].startswith("voicevox_core"))
    assert (core["kind"], core["before"]["members"], core["after"]["members"]) == ("changed", 0, 6)
    assert list((tmp_path / "store").glob("*/work/*")) == []
    assert say("lock", "-r", "tiny", "--check", "--download", "--json", "-q").status == 0
    (own / "locks/tiny.lock.json").unlink()
    said = say("lock", "-r", "tiny", "--download")
    assert "; 6 members" in said.out
    assert said.out.count("to be accepted: ") == 2
