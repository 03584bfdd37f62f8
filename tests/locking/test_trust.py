"""`--allow-unlocked`: what no lock vouches for is taken as it is now, and never silently."""

from __future__ import annotations

import pytest

from tests.locking.conftest import FILES, LINUX, MODELS, VVM, WIN, Bench, digest
from tests.server.github import LoopbackGitHub
from vvbuild.errors import LockDriftError, NotFoundOnServerError, OfflineError
from vvbuild.locking.trust import Trusted, trust_unlocked
from vvbuild.manifest.release import load_release
from vvbuild.model.events import Note
from vvbuild.model.target import Target

TARGET = Target.parse("linux-x64-cpu")


def trusted(bench: Bench, *, offline: bool = False) -> Trusted:
    loaded = load_release(bench.manifest, allow_local=True)
    return bench._run(lambda _, means: trust_unlocked(loaded, TARGET, means), offline=offline)


def test_what_is_not_locked_is_taken_as_the_servers_have_it(
    bench: Bench, hub: LoopbackGitHub
) -> None:
    found = trusted(bench)

    names = [item.name for item in found.lock.for_target(TARGET)]
    assert names == [LINUX, "9.vvm", "10.vvm"]
    assert found.lock.gaps(TARGET) == ()
    assert found.lock.artifacts[0].sha256.hex == digest(FILES[LINUX])
    assert set(found.taken) == set(names)
    assert found.taken[LINUX]["sha256"] == "GitHub release API"


def test_it_is_told_for_each_file_and_no_lock_is_written(bench: Bench, hub: LoopbackGitHub) -> None:
    trusted(bench)

    warnings = [each.text for each in bench.events if isinstance(each, Note)]
    assert warnings == [
        f"{name} is not locked; taken as it is now (GitHub release API)"
        for name in (LINUX, "9.vvm", "10.vvm")
    ]
    assert not bench.path.exists()


def test_what_is_locked_stays_locked_and_is_not_asked_for(
    bench: Bench, hub: LoopbackGitHub
) -> None:
    bench.lock()
    bench.edit("9.vvm", sha256=None, size=None, unlocked="nobody knows", max_size=9)
    bench.server.requests.clear()

    found = trusted(bench)

    assert set(found.taken) == {"9.vvm"}
    assert {item.name: item.sha256.hex for item in found.lock.artifacts} == {
        LINUX: digest(FILES[LINUX]),
        **{name: digest(MODELS[name]) for name in ("9.vvm", "10.vvm")},
    }


def test_only_what_the_target_needs_is_asked_for(bench: Bench, hub: LoopbackGitHub) -> None:
    assert WIN not in trusted(bench).taken


def test_what_is_locked_and_was_replaced_is_still_refused(
    bench: Bench, hub: LoopbackGitHub
) -> None:
    bench.lock()
    bench.edit("9.vvm", size=None, max_size=9)
    hub.replace(VVM, "0.16.4", "9.vvm", b"other")

    with pytest.raises(LockDriftError):
        trusted(bench)


def test_what_is_nowhere_and_what_may_not_be_asked_for_is_an_error(
    bench: Bench, hub: LoopbackGitHub
) -> None:
    with pytest.raises(OfflineError):
        trusted(bench, offline=True)
    hub.delete(VVM, "0.16.4")
    with pytest.raises(NotFoundOnServerError):
        trusted(bench)
