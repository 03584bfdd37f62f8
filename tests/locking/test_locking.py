"""Locking from an index, and from the bytes where no index tells of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.locking.conftest import Bench, digest
from tests.manifest.conftest import edited
from tests.server.faults import Cut, NoLength, Replace, Stall, Status
from tests.server.http import LoopbackServer
from vvbuild.errors import (
    CancelledError,
    DigestMismatchError,
    LockDriftError,
    NetworkError,
    NotFoundOnServerError,
    OfflineError,
    PermissionDeniedError,
    SizeMismatchError,
    UnknownNameError,
)
from vvbuild.fetch.trust import Trust
from vvbuild.locking import rows
from vvbuild.manifest.lock import load_lock
from vvbuild.manifest.release import load_release
from vvbuild.model.digest import Digest
from vvbuild.model.events import Progress

LINUX, WIN = b"linux wheel " * 1000, b"win wheel " * 1000
LINUX_NAME, WIN_NAME = "linux-1.23.2.whl", "win.whl"


@pytest.fixture
def bench(server: LoopbackServer, write: Callable[[str], Path], tiny: str, trust: Trust) -> Bench:
    """A release of which one file is on an index, and one at a URL that says nothing of it."""
    text = edited(
        tiny, '["pypi:onnxruntime/{version}/win.whl", "https://host.example/win.whl"]',
        f'["{server.url("/loose/win.whl")}"]\nsource = "url"',
    )  # fmt: skip
    return Bench(write(text), server, trust)


def serve(server: LoopbackServer, *script: object, linux: bytes = LINUX, **options: object) -> None:
    server.pypi("onnxruntime", {LINUX_NAME: linux}, **options)
    server.serve("/loose/win.whl", WIN, *script)


def test_digests_come_from_the_index_and_else_from_the_bytes(
    server: LoopbackServer, bench: Bench
) -> None:
    serve(server)

    result = bench.lock()

    assert [(row.name, row.sha256, row.size) for row in result.artifacts] == [
        (LINUX_NAME, digest(LINUX), len(LINUX)), (WIN_NAME, digest(WIN), len(WIN)),
    ]  # fmt: skip
    assert [row.provenance for row in result.artifacts] == [
        {"sha256": "index of pypi", "size": "index of pypi"},
        {"sha256": "downloaded and hashed", "size": "downloaded and hashed"},
    ]
    assert server.asked(f"/files/{LINUX_NAME}") == []
    assert [change.kind for change in result.changes] == ["added", "added"]
    assert Progress("lock tiny", 2, 2, "artifacts") in bench.events
    loaded = load_release(bench.manifest, allow_local=True)
    read = load_lock(
        bench.path, expected=loaded.pins_digest, release="tiny",
        pinned=loaded.artifacts, allow_local=True,
    )  # fmt: skip
    assert [item.sha256 for item in read.artifacts] == [
        Digest.of_bytes(LINUX), Digest.of_bytes(WIN),
    ]  # fmt: skip


def test_what_is_locked_is_neither_changed_nor_asked_for_again(
    server: LoopbackServer, bench: Bench
) -> None:
    serve(server)
    bench.lock()
    before, asked = bench.path.read_bytes(), len(server.requests)
    changed = bench.path.stat().st_mtime_ns
    serve(server, linux=b"another")

    assert [change.kind for change in bench.lock().changes] == ["unchanged", "unchanged"]

    assert bench.path.read_bytes() == before
    assert bench.path.stat().st_mtime_ns == changed
    assert len(server.requests) == asked
    assert list(json.loads(before)) == ["schema", "release", "manifest_sha256", "artifacts"]


def test_what_the_manifest_says_of_kept_rows_is_taken_over(
    server: LoopbackServer, bench: Bench
) -> None:
    serve(server)
    bench.lock()
    text = bench.manifest.read_text()
    bench.manifest.write_text(
        text.replace('source = "pypi"', 'source = "pypi"\nlicence = "MIT"').replace(
            'targets = ["win-x64-cpu"]', 'targets = ["*"]'
        )
    )
    asked = len(server.requests)

    bench.lock()

    assert bench.rows[WIN_NAME]["targets"] == ["linux-x64-cpu", "win-x64-cpu"]
    assert bench.rows[WIN_NAME]["licence"] == "MIT"
    assert len(server.requests) == asked
    assert bench.check(ask=False).problems == ()


def test_a_pin_that_changed_is_locked_anew(server: LoopbackServer, bench: Bench) -> None:
    serve(server)
    bench.lock()
    bench.manifest.write_text(bench.manifest.read_text().replace("1.23.2", "1.24.0"))
    server.pypi("onnxruntime", {"linux-1.24.0.whl": b"new"})

    result = bench.lock()

    assert [(each.name, each.kind) for each in result.changes] == [
        ("linux-1.24.0.whl", "added"), (WIN_NAME, "changed"), (LINUX_NAME, "removed"),
    ]  # fmt: skip
    assert set(bench.rows) == {"linux-1.24.0.whl", WIN_NAME}


@pytest.mark.parametrize("there", [None, b"", b"{", b'{"artifacts": 1}'])
def test_an_old_lock_that_cannot_be_read_is_replaced(
    there: bytes | None, server: LoopbackServer, bench: Bench
) -> None:
    serve(server)
    if there is not None:
        bench.path.write_bytes(there)

    assert [change.kind for change in bench.lock().changes] == ["added", "added"]


@pytest.mark.parametrize(
    ("status", "kind"), [(404, NotFoundOnServerError), (500, NetworkError), (403, NetworkError)]
)
def test_b109_an_error_page_is_never_locked(
    status: int, kind: type, server: LoopbackServer, bench: Bench
) -> None:
    serve(server)
    server.serve("/loose/win.whl", b"", always=Status(status, body=b"Not Found"))

    with pytest.raises(kind) as caught:
        bench.lock()

    assert caught.value.exit_status == 3
    assert str(status) in caught.value.message
    assert not bench.path.exists()


def test_b109_a_page_with_status_200_is_never_locked(server: LoopbackServer, bench: Bench) -> None:
    serve(server)
    server.serve("/loose/win.whl", b"", always=Replace(b"<!DOCTYPE html><p>Sign in"))

    with pytest.raises(NetworkError, match="sent an HTML page where the file should be"):
        bench.lock()
    assert not bench.path.exists()


@pytest.mark.parametrize("fault", [Status(503), Cut(100)], ids=["busy", "cut"])
def test_b110_a_download_that_fails_once_is_tried_again(
    fault: object, server: LoopbackServer, bench: Bench
) -> None:
    serve(server, fault)

    assert bench.lock().artifacts[1].sha256 == digest(WIN)
    assert len(server.asked("/loose/win.whl")) == 2


@pytest.mark.parametrize("told", [True, False], ids=["announced", "without a length"])
def test_a_file_of_unknown_size_is_read_up_to_its_max_size(
    told: bool, server: LoopbackServer, bench: Bench
) -> None:
    serve(server)
    body, sent = b"x" * (41 << 20), server.sent
    server.serve("/loose/win.whl", body, always=None if told else NoLength())

    with pytest.raises(SizeMismatchError, match=r"win\.whl is larger than 20\.0 MiB") as caught:
        bench.lock()

    assert "max_size" in (caught.value.hint or "")
    assert server.sent - sent < len(body)
    assert not bench.path.exists()


def test_a_file_that_its_index_does_not_know_is_named(server: LoopbackServer, bench: Bench) -> None:
    serve(server)
    server.pypi("onnxruntime", {"linux-1.23.1.whl": LINUX})

    with pytest.raises(NotFoundOnServerError, match=r"linux-1\.23\.1\.whl"):
        bench.lock()


def test_b117_a_file_that_differs_from_its_index_is_not_locked(
    server: LoopbackServer, bench: Bench
) -> None:
    """The index tells a digest and no size, so the file is read."""
    serve(server, html=True, digests={LINUX_NAME: "0" * 64})

    with pytest.raises(DigestMismatchError, match="is not what its index says") as caught:
        bench.lock()

    assert caught.value.context["index says"] == "0" * 64
    assert caught.value.context["file has"] == digest(LINUX)
    assert not bench.path.exists()


def test_a_second_reference_serves_where_the_first_is_not_found(
    server: LoopbackServer, bench: Bench
) -> None:
    serve(server)
    del server.resources["/loose/win.whl"]
    mirror = server.serve("/mirror/win.whl", WIN)
    first = server.url("/loose/win.whl")
    text = bench.manifest.read_text()
    bench.manifest.write_text(text.replace(f'"{first}"', f'"{first}", "{mirror}"'))

    bench.lock()

    row = bench.rows[WIN_NAME]
    assert row["sha256"] == digest(WIN)
    told = f"downloaded and hashed ({mirror}, since {first} was not found)"
    assert row["provenance"] == {"sha256": told, "size": told}


def test_all_references_that_are_not_there_are_named(server: LoopbackServer, bench: Bench) -> None:
    serve(server)
    del server.resources["/loose/win.whl"]
    first, second = server.url("/loose/win.whl"), server.url("/mirror/win.whl")
    text = bench.manifest.read_text()
    bench.manifest.write_text(text.replace(f'"{first}"', f'"{first}", "{second}"'))

    with pytest.raises(NotFoundOnServerError, match="None of its 2 references") as caught:
        bench.lock()
    assert list(caught.value.context) == [first, second]


def test_a_reference_that_cannot_be_asked_is_not_passed_over(
    server: LoopbackServer, bench: Bench
) -> None:
    serve(server)
    first = server.serve("/loose/win.whl", b"", always=Status(500))
    mirror = server.serve("/mirror/win.whl", WIN)
    text = bench.manifest.read_text()
    bench.manifest.write_text(text.replace(f'"{first}"', f'"{first}", "{mirror}"'))

    with pytest.raises(NetworkError, match="500"):
        bench.lock()
    assert server.asked("/mirror/win.whl") == []


# What could not be learned


def test_all_artifacts_that_could_not_be_locked_are_named_and_nothing_is_written(
    server: LoopbackServer, bench: Bench
) -> None:
    server.pypi("onnxruntime", {})

    with pytest.raises(NotFoundOnServerError, match="2 of 2 artifacts") as caught:
        bench.lock()

    assert list(caught.value.context) == [LINUX_NAME, WIN_NAME]
    assert "--keep-going" in (caught.value.hint or "")
    assert not bench.path.exists()


def test_keep_going_locks_what_it_can_and_leaves_the_reason_for_the_rest(
    server: LoopbackServer, bench: Bench
) -> None:
    serve(server)
    del server.resources["/loose/win.whl"]

    result = bench.lock(keep_going=True)

    assert list(result.failures) == [WIN_NAME]
    assert bench.rows[LINUX_NAME]["sha256"] == digest(LINUX)
    row = bench.rows[WIN_NAME]
    assert "answered 404" in row["unlocked"]
    assert row["max_size"] == 20 << 20
    assert "sha256" not in row
    serve(server)
    assert [change.kind for change in bench.lock().changes] == ["unchanged", "changed"]
    assert bench.rows[WIN_NAME]["sha256"] == digest(WIN)
    assert "unlocked" not in bench.rows[WIN_NAME]


def test_that_a_server_does_not_answer_is_no_news_about_its_file(
    server: LoopbackServer, bench: Bench
) -> None:
    serve(server)
    del server.resources["/loose/win.whl"]
    bench.lock(keep_going=True)
    bench.edit(WIN_NAME, unlocked="nobody has it")
    server.serve("/loose/win.whl", b"", always=Status(500))

    bench.lock(keep_going=True)

    assert bench.rows[WIN_NAME]["unlocked"] == "nobody has it"


def test_offline_what_is_locked_is_enough(server: LoopbackServer, bench: Bench) -> None:
    serve(server)
    bench.lock()
    server.resources.clear()

    assert [change.kind for change in bench.lock(offline=True).changes] == ["unchanged"] * 2
    bench.path.unlink()
    with pytest.raises(OfflineError):
        bench.lock(offline=True)
    assert not bench.path.exists()


def test_a_lock_that_may_not_be_written_names_the_way_out(
    server: LoopbackServer, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(server)

    def refuse(path: Path, data: bytes) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(rows, "write_atomically", refuse)

    with pytest.raises(PermissionDeniedError) as caught:
        bench.lock()
    assert "--manifests DIR" in (caught.value.hint or "")


# Drift


def test_accepted_drift_takes_the_new_bytes_of_that_artifact_alone(
    server: LoopbackServer, bench: Bench
) -> None:
    serve(server)
    bench.lock()
    serve(server, linux=b"another")
    server.serve("/loose/win.whl", b"another one")

    result = bench.lock(accept_drift=("linux-*",))

    assert [(each.name, each.kind) for each in result.changes] == [
        (LINUX_NAME, "changed"), (WIN_NAME, "unchanged"),
    ]  # fmt: skip
    assert bench.rows[LINUX_NAME]["sha256"] == digest(b"another")
    assert bench.rows[LINUX_NAME]["provenance"]["sha256"] == "index of pypi"
    assert bench.rows[WIN_NAME]["sha256"] == digest(WIN)


def test_downloading_compares_every_file_with_its_index_and_its_lock(
    server: LoopbackServer, bench: Bench
) -> None:
    serve(server)

    bench.lock(download=True)

    told = "index of pypi; downloaded and hashed"
    assert bench.rows[LINUX_NAME]["provenance"] == {"sha256": told, "size": told}
    before = bench.path.read_bytes()
    server.serve(f"/files/{LINUX_NAME}", b"x" * len(LINUX))
    with pytest.raises(DigestMismatchError, match="is not what its index says"):
        bench.lock(download=True)
    server.serve(f"/files/{LINUX_NAME}", LINUX)
    server.serve("/loose/win.whl", b"another")
    with pytest.raises(LockDriftError, match=r"for win\.whl") as caught:
        bench.lock(download=True)
    assert digest(WIN) in caught.value.context[WIN_NAME]
    assert digest(b"another") in caught.value.context[WIN_NAME]
    assert "--accept-drift win.whl" in (caught.value.hint or "")
    assert bench.path.read_bytes() == before


def test_a_size_that_is_not_what_the_index_says_is_told(
    server: LoopbackServer, bench: Bench
) -> None:
    serve(server, digests={LINUX_NAME: digest(b"short")})
    server.serve(f"/files/{LINUX_NAME}", b"short")

    with pytest.raises(SizeMismatchError, match="is not what its index says"):
        bench.lock(download=True)


def test_an_unknown_name_of_drift_is_refused_with_the_nearest(
    server: LoopbackServer, bench: Bench
) -> None:
    with pytest.raises(UnknownNameError, match=r"win\.whl"):
        bench.lock(accept_drift=("win.whe",))
    assert server.requests == []


# Interruptions


def test_locking_can_be_interrupted_in_the_middle_of_a_download(
    server: LoopbackServer, bench: Bench
) -> None:
    serve(server, Stall(100))
    caught: list[BaseException] = []

    def work() -> None:
        try:
            bench.lock()
        except CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not server.asked("/loose/win.whl"):
        thread.join(0.01)
    bench.cancel.set()
    thread.join(30)

    assert not thread.is_alive()
    assert len(caught) == 1
    assert not bench.path.exists()
