"""Locking from GitHub's API."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

from tests.fetch.conftest import indexes_of
from tests.locking import conftest
from tests.locking.conftest import CORE, FILES, LINUX, MODELS, VVM, WIN, Bench, digest
from tests.server.faults import Replace, Stall, Status
from tests.server.github import LoopbackGitHub, limit_reached
from tests.server.http import LoopbackServer
from vvbuild.errors import (
    CancelledError,
    DigestMismatchError,
    LockDriftError,
    NetworkError,
    NotFoundOnServerError,
    RateLimitedError,
    SizeMismatchError,
)
from vvbuild.model.events import Note, Progress

UPLOAD = "2026-01-02T03:04:05Z"


def test_digests_and_sizes_come_from_the_api_and_nothing_is_downloaded(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()

    assert {name: (row["sha256"], row["size"]) for name, row in bench.rows.items()} == {
        name: (digest(body), len(body))
        for name, body in {**FILES, **MODELS}.items()
        if name != "readme.txt"
    }
    assert bench.rows[LINUX]["provenance"] == {
        "sha256": "GitHub release API", "size": "GitHub release API", "upload": UPLOAD,
    }  # fmt: skip
    assert "max_size" not in bench.rows[LINUX]
    assert hub.storage.requests == []
    assert bench.check(ask=False).problems == ()


def test_a_glob_is_locked_as_the_assets_that_it_stands_for(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    """In the order of the manifest, and among them by number."""
    bench.lock()

    assert list(bench.rows) == [LINUX, WIN, "9.vvm", "10.vvm"]
    assert bench.rows["9.vvm"]["references"] == [f"github:{VVM}@0.16.4/9.vvm"]


def test_each_release_is_asked_for_once(hub: LoopbackGitHub, bench: Bench) -> None:
    bench.lock()

    assert hub.asked(CORE, "0.16.2") == 1
    assert hub.asked(VVM, "0.16.4") == 1
    assert len(hub.server.requests) == 2


def test_what_is_locked_is_not_asked_for_again(hub: LoopbackGitHub, bench: Bench) -> None:
    bench.lock()
    before = bench.path.read_bytes()
    hub.server.resources.clear()

    assert {change.kind for change in bench.lock().changes} == {"unchanged"}
    assert bench.path.read_bytes() == before


@pytest.mark.parametrize("tag", ["0.16.2", "0.16.4"])
def test_only_what_is_not_locked_is_asked_for(tag: str, hub: LoopbackGitHub, bench: Bench) -> None:
    bench.lock()
    name, project = (WIN, CORE) if tag == "0.16.2" else ("9.vvm", VVM)
    bench.edit(name, sha256=None, unlocked="nobody knew")
    asked = len(hub.server.requests)

    result = bench.lock()

    assert [change.name for change in result.changes if change.kind == "changed"] == [name]
    assert len(hub.server.requests) == asked + 1
    assert hub.asked(project, tag) == 2


def test_an_unlocked_glob_becomes_its_assets(hub: LoopbackGitHub, bench: Bench) -> None:
    hub.delete(VVM, "0.16.4")
    bench.lock(keep_going=True)
    assert "unlocked" in bench.rows["*.vvm"]
    assert list(bench.rows) == [LINUX, WIN, "*.vvm"]
    hub.release(VVM, "0.16.4", MODELS)

    result = bench.lock()

    assert list(bench.rows) == [LINUX, WIN, "9.vvm", "10.vvm"]
    assert [(each.name, each.kind) for each in result.changes][2:] == [
        ("9.vvm", "added"), ("10.vvm", "added"), ("*.vvm", "removed"),
    ]  # fmt: skip


def test_a_glob_that_fits_nothing_names_what_there_is(hub: LoopbackGitHub, bench: Bench) -> None:
    hub.release(VVM, "0.16.4", {"readme.txt": b""})

    with pytest.raises(NotFoundOnServerError, match=r"called \*\.vvm") as caught:
        bench.lock()
    assert caught.value.context == {"assets": "readme.txt"}
    hub.release(VVM, "0.16.4", {})
    with pytest.raises(NotFoundOnServerError, match="called"):
        bench.lock()


@pytest.mark.parametrize("name", ["../evil.vvm", "a b.vvm", "con.vvm", "\x1b[31m.vvm"])
def test_an_asset_with_a_name_that_no_lock_can_hold_is_refused(
    name: str, hub: LoopbackGitHub, bench: Bench
) -> None:
    body = hub.server.resources["/api/repos/VOICEVOX/voicevox_vvm/releases/tags/0.16.4"].body
    release = json.loads(body)
    release["assets"][0]["name"] = name
    hub.play(VVM, "0.16.4", Replace(json.dumps(release).encode(), "application/json"))

    with pytest.raises(NetworkError, match=r"voicevox_vvm@0\.16\.4"):
        bench.lock()
    assert not bench.path.exists()


# What the API does not tell


def test_an_asset_without_a_digest_is_downloaded_and_hashed(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    hub.release(CORE, "0.16.2", FILES, digests={LINUX: None})

    bench.lock()

    row = bench.rows[LINUX]
    assert (row["sha256"], row["size"]) == (digest(FILES[LINUX]), len(FILES[LINUX]))
    assert row["provenance"]["sha256"] == "downloaded and hashed"
    assert hub.downloads(LINUX) == 1
    assert hub.downloads(WIN) == 0
    progress = [event for event in bench.events if isinstance(event, Progress)]
    assert Progress(LINUX, len(FILES[LINUX]), len(FILES[LINUX])) in progress


def test_a_download_of_another_size_than_the_api_says_is_not_locked(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    hub.release(CORE, "0.16.2", FILES, digests={LINUX: None}, sizes={LINUX: 5})

    with pytest.raises(SizeMismatchError, match="is not what its index says"):
        bench.lock()


def test_a_file_that_is_larger_than_the_manifest_allows_is_refused_unread(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    hub.release(CORE, "0.16.2", {**FILES, LINUX: b"x" * (2 << 20)}, digests={LINUX: None})

    with pytest.raises(SizeMismatchError, match=r"is larger than 1\.0 MiB"):
        bench.lock()
    assert hub.downloads(LINUX) == 0


def test_a_digest_that_others_told_gets_its_size_and_a_second_witness(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    bench.edit(LINUX, size=None, max_size=1 << 20, provenance={"sha256": "a Dockerfile"})

    result = bench.lock()

    assert [each.name for each in result.changes if each.kind == "changed"] == [LINUX]
    row = bench.rows[LINUX]
    assert row["size"] == len(FILES[LINUX])
    assert "max_size" not in row
    assert row["provenance"] == {
        "sha256": "a Dockerfile; GitHub release API", "size": "GitHub release API",
        "upload": UPLOAD,
    }  # fmt: skip


def test_a_digest_that_others_told_and_the_api_does_not_needs_no_download(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    hub.release(CORE, "0.16.2", FILES, digests={LINUX: None})
    bench.lock()
    bench.edit(LINUX, size=None, max_size=1 << 20, provenance={"sha256": "a Dockerfile"})
    asked = hub.downloads(LINUX)

    bench.lock()

    assert bench.rows[LINUX]["size"] == len(FILES[LINUX])
    assert bench.rows[LINUX]["provenance"]["sha256"] == "a Dockerfile"
    assert hub.downloads(LINUX) == asked


def test_downloading_confirms_what_the_api_says(hub: LoopbackGitHub, bench: Bench) -> None:
    bench.lock(download=True)

    assert bench.rows[LINUX]["provenance"]["sha256"] == "GitHub release API; downloaded and hashed"
    assert hub.downloads(LINUX) == hub.downloads("9.vvm") == 1
    hub.release(CORE, "0.16.2", FILES, digests={LINUX: f"sha256:{'0' * 64}"})
    bench.path.unlink()
    with pytest.raises(DigestMismatchError, match="is not what its index says"):
        bench.lock(download=True)
    assert not bench.path.exists()


# Drift


def test_b117_a_release_published_again_under_its_tag_is_not_locked_silently(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    """Asked again, since a digest that others told has no size yet."""
    bench.lock()
    bench.edit(LINUX, size=None, max_size=1 << 20)
    before = bench.path.read_bytes()
    hub.delete(CORE, "0.16.2")
    hub.release(CORE, "0.16.2", {**FILES, LINUX: b"rebuilt"})

    with pytest.raises(LockDriftError, match=LINUX) as caught:
        bench.lock()

    assert caught.value.code == "lock-drift"
    assert caught.value.exit_status == 4
    told = caught.value.context[LINUX]
    assert digest(FILES[LINUX]) in told
    assert f"{digest(b'rebuilt')}, 7 bytes" in told
    assert f"--accept-drift {LINUX}" in (caught.value.hint or "")
    assert bench.path.read_bytes() == before


def test_b117_accepted_drift_tells_old_and_new(hub: LoopbackGitHub, bench: Bench) -> None:
    bench.lock()
    hub.replace(CORE, "0.16.2", LINUX, b"rebuilt")

    (change,) = [each for each in bench.lock(accept_drift=(LINUX,)).changes if each.name == LINUX]

    assert change.kind == "changed"
    assert change.before is not None
    assert change.after is not None
    assert (change.before.sha256, change.after.sha256) == (digest(FILES[LINUX]), digest(b"rebuilt"))


def test_accepting_assets_of_a_glob_takes_in_those_that_are_new(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    hub.release(VVM, "0.16.4", {"9.vvm": b"nine", "11.vvm": b"eleven"})
    assert list(bench.lock().artifacts) != []
    assert "11.vvm" not in bench.rows

    bench.lock(accept_drift=("11.vvm",))

    assert list(bench.rows) == [LINUX, WIN, "9.vvm", "11.vvm"]


# Limits and other trouble


def test_a_limit_of_requests_is_met_and_survived(hub: LoopbackGitHub, bench: Bench) -> None:
    hub.play(CORE, "0.16.2", limit_reached(40))

    bench.lock()

    assert bench.rows[LINUX]["sha256"] == digest(FILES[LINUX])
    assert [40 <= seconds <= 41 for seconds in bench.waits.seconds] == [True]
    notes = [event.text for event in bench.events if isinstance(event, Note)]
    assert len(notes) == 1
    assert "limit of requests" in notes[0]


def test_a_limit_that_ends_late_ends_the_command_and_changes_nothing(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    hub.play(CORE, "0.16.2", always=limit_reached(3000))

    with pytest.raises(RateLimitedError) as caught:
        bench.lock()

    assert caught.value.exit_status == 3
    assert hub.asked(CORE, "0.16.2") == 1
    assert not bench.path.exists()


def test_a_release_that_is_not_there_does_not_keep_the_others_from_being_named(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    hub.delete(CORE, "0.16.2")
    hub.release(CORE, "0.16.1", {})

    with pytest.raises(NotFoundOnServerError, match="2 of 4 artifacts") as caught:
        bench.lock()

    assert set(caught.value.context) == {LINUX, WIN}
    assert r"the nearest are 0.16.1" in caught.value.context[LINUX]


def test_a_server_that_does_not_answer_is_asked_once_for_all_its_artifacts(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    hub.play(CORE, "0.16.2", always=Status(500))

    bench.lock(keep_going=True)

    assert hub.asked(CORE, "0.16.2") == 7
    assert set(bench.rows) == {LINUX, WIN, "9.vvm", "10.vvm"}
    assert "unlocked" in bench.rows[LINUX]
    assert bench.rows["9.vvm"]["sha256"] == digest(b"nine")


def test_an_interruption_leaves_the_lock_as_it_was(hub: LoopbackGitHub, bench: Bench) -> None:
    bench.lock()
    bench.edit(LINUX, sha256=None, unlocked="nobody knew")
    before = bench.path.read_bytes()
    hub.play(CORE, "0.16.2", always=Stall(None))
    caught: list[BaseException] = []

    def work() -> None:
        try:
            bench.lock()
        except CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while hub.asked(CORE, "0.16.2") < 2:
        thread.join(0.01)
    bench.cancel.set()
    thread.join(30)

    assert len(caught) == 1
    assert bench.path.read_bytes() == before
    assert sorted(each.name for each in bench.path.parent.iterdir()) == [
        "tiny.lock.json", "tiny.toml",
    ]  # fmt: skip


def test_no_token_reaches_the_lock_or_the_download(
    hub: LoopbackGitHub, bench: Bench, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexes = indexes_of(server)
    api = replace(indexes.github_api, token="ghp_secret")
    monkeypatch.setattr(conftest, "indexes_of", lambda _: replace(indexes, github_api=api))

    bench.lock(download=True)

    asked = [each for each in server.requests if each.path.startswith("/api/")]
    assert [each.headers["authorization"] for each in asked] == ["Bearer ghp_secret"] * 2
    others = [each for each in server.requests if not each.path.startswith("/api/")]
    assert len(others) == 4
    for each in [*others, *hub.storage.requests]:
        assert "authorization" not in each.headers
    assert "ghp_secret" not in bench.path.read_text()
