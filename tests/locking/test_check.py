"""`lock --check`: gaps without a server, drift with one."""

from __future__ import annotations

import pytest

from tests.locking.conftest import CORE, FILES, LINUX, MODELS, VVM, WIN, Bench, digest
from tests.server.faults import Status
from tests.server.github import LoopbackGitHub, limit_reached
from vvbuild.errors import NetworkError, RateLimitedError
from vvbuild.locking.check import LockCheck


def kinds(check: LockCheck) -> list[tuple[str, str | None]]:
    return [(problem.kind, problem.artifact) for problem in check.problems]


def test_a_good_lock_has_no_problems_and_nothing_is_written(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    before, changed = bench.path.read_bytes(), bench.path.stat().st_mtime_ns

    check = bench.check()

    assert check.problems == ()
    assert check.compared == (LINUX, WIN, "9.vvm", "10.vvm")
    assert check.not_compared == ()
    assert (bench.path.read_bytes(), bench.path.stat().st_mtime_ns) == (before, changed)
    assert hub.storage.requests == []


# Gaps


def test_a_lock_that_is_not_there_is_a_gap(hub: LoopbackGitHub, bench: Bench) -> None:
    check = bench.check()

    assert kinds(check) == [("no-lock", None)]
    assert "vvbuild lock --release" in check.problems[0].fix
    assert hub.server.requests == []


@pytest.mark.parametrize("text", ["", "{", '{"schema": "vvbuild.lock/1"}'])
def test_a_lock_that_cannot_be_read_is_invalid(
    text: str, hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.path.write_text(text)

    assert kinds(bench.check()) == [("invalid", None)]


def test_rows_that_are_not_locked_are_named_with_their_reason(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    bench.edit(WIN, sha256=None, unlocked="nobody knew")

    check = bench.check()

    assert kinds(check) == [("unlocked", WIN)]
    assert check.problems[0].message == "It is not locked: nobody knew"
    assert WIN not in check.compared


def test_a_lock_of_another_state_of_the_manifest_is_told_pin_by_pin(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    text = bench.manifest.read_text()
    text = text.replace('version = "0.16.4"', 'version = "0.16.5"')
    bench.manifest.write_text(text.replace("x64-cpu-{version}.zip", "x64-gpu-{version}.zip"))

    found = kinds(bench.check(ask=False))

    new = [name.replace("x64-cpu", "x64-gpu") for name in (LINUX, WIN)]
    assert found == [
        ("stale", None), *(("not-locked", name) for name in new),
        *(("not-pinned", name) for name in (LINUX, WIN)),
        ("other-pin", "9.vvm"), ("other-pin", "10.vvm"),
    ]  # fmt: skip


def test_a_row_that_no_command_would_accept_is_invalid(hub: LoopbackGitHub, bench: Bench) -> None:
    bench.lock()
    bench.edit(LINUX, targets=["linux-x64-cpu", "linux-x64-cuda"])

    assert kinds(bench.check(ask=False)) == [("invalid", None)]


def test_offline_gaps_are_found_and_nobody_is_asked(hub: LoopbackGitHub, bench: Bench) -> None:
    bench.lock()
    bench.edit(WIN, sha256=None, unlocked="nobody knew")
    asked = len(hub.server.requests)

    assert kinds(bench.check(ask=False, offline=True)) == [("unlocked", WIN)]
    assert len(hub.server.requests) == asked


# Drift


def test_b117_an_asset_that_was_replaced_by_other_bytes_is_drift(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    hub.replace(CORE, "0.16.2", LINUX, b"rebuilt")

    (problem,) = bench.check().problems

    assert (problem.kind, problem.artifact) == ("replaced", LINUX)
    assert f"{digest(FILES[LINUX])}, {len(FILES[LINUX])} bytes" in problem.message
    assert f"the server has {digest(b'rebuilt')}, 7 bytes" in problem.message
    assert f"--accept-drift {LINUX}" in problem.fix


def test_b117_an_asset_of_the_same_size_is_drift_all_the_same(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    hub.replace(CORE, "0.16.2", LINUX, FILES[LINUX][::-1])

    assert kinds(bench.check()) == [("replaced", LINUX)]


def test_b117_a_release_that_was_deleted_is_drift_for_each_of_its_artifacts(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    hub.delete(CORE, "0.16.2")

    check = bench.check()

    assert kinds(check) == [("gone", LINUX), ("gone", WIN)]
    assert "has no release 0.16.2" in check.problems[0].message
    assert "deleted" in check.problems[0].fix


def test_b117_a_release_published_again_with_other_bytes_is_drift(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    hub.delete(CORE, "0.16.2")
    hub.release(CORE, "0.16.2", {LINUX: FILES[LINUX], WIN: b"rebuilt"})

    assert kinds(bench.check()) == [("replaced", WIN)]


def test_b117_a_file_without_a_digest_is_judged_by_size_and_upload(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    none = dict.fromkeys(FILES, None)
    hub.release(CORE, "0.16.2", FILES, digests=none)
    bench.lock()
    downloads = hub.downloads(LINUX)
    check = bench.check()
    assert check.problems == ()
    assert check.not_compared == (LINUX, WIN)

    hub.release(CORE, "0.16.2", {**FILES, WIN: b"rebuilt"}, digests=none)
    assert kinds(bench.check()) == [("replaced", WIN)]

    upload = hub._repositories[CORE]["0.16.2"].assets[LINUX]
    upload.updated_at = "2026-03-01T00:00:00Z"
    hub.release("other/one", "1", {})
    hub._publish(CORE)
    problem = bench.check().problems[0]
    assert (problem.kind, problem.artifact) == ("replaced", LINUX)
    assert "uploaded 2026-01-02T03:04:05Z" in problem.message
    assert "uploaded 2026-03-01T00:00:00Z" in problem.message
    assert hub.downloads(LINUX) == downloads


def test_b117_a_later_upload_of_the_same_bytes_is_no_drift(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    hub._repositories[CORE]["0.16.2"].assets[LINUX].updated_at = "2026-03-01T00:00:00Z"
    hub._publish(CORE)

    assert bench.check().problems == ()


def test_downloading_finds_what_the_api_does_not_tell(hub: LoopbackGitHub, bench: Bench) -> None:
    """The bytes that are served, not the API's word for them."""
    bench.lock()
    path = next(path for path in hub.storage.resources if path.endswith(LINUX))
    hub.storage.serve(path, b"x" * len(FILES[LINUX]))

    assert bench.check().problems == ()
    (problem,) = bench.check(download=True).problems
    assert (problem.kind, problem.artifact) == ("replaced", LINUX)
    assert "is not what its index says" in problem.message


def test_a_file_that_outgrew_the_manifest_is_drift(hub: LoopbackGitHub, bench: Bench) -> None:
    bench.lock()
    hub.replace(CORE, "0.16.2", LINUX, b"x" * (2 << 20))

    (problem,) = bench.check().problems
    assert (problem.kind, problem.artifact) == ("replaced", LINUX)
    assert "is larger than" in problem.message


def test_assets_that_came_and_went_under_a_glob_are_drift(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    hub.release(VVM, "0.16.4", {"9.vvm": b"nine", "11.vvm": b"eleven", "more.txt": b""})

    assert kinds(bench.check()) == [("gone", "10.vvm"), ("new-asset", "11.vvm")]


# What could not be asked


def test_a_server_that_does_not_answer_is_an_error_of_the_network(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    hub.play(CORE, "0.16.2", always=Status(500))

    with pytest.raises(NetworkError) as caught:
        bench.check()
    assert caught.value.exit_status == 3


def test_a_limit_of_requests_is_met_and_survived(hub: LoopbackGitHub, bench: Bench) -> None:
    bench.lock()
    hub.play(CORE, "0.16.2", limit_reached(20))

    assert bench.check().problems == ()
    assert len(bench.waits.seconds) == 1

    hub.play(CORE, "0.16.2", always=limit_reached(2000))
    with pytest.raises(RateLimitedError):
        bench.check()


def test_what_was_found_is_told_although_something_could_not_be_asked(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    hub.release(VVM, "0.16.4", {**MODELS, "9.vvm": b"other"})
    bench.edit(WIN, sha256=None, unlocked="nobody knew")
    hub.play(CORE, "0.16.2", always=limit_reached(2000))

    found = kinds(bench.check())

    assert found[0] == ("unlocked", WIN)
    assert ("not-asked", LINUX) in found
