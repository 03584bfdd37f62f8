from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fetch.conftest import Waits, indexes_of
from tests.manifest.conftest import edited
from tests.server.faults import Cut, Stall, Status
from tests.server.http import LoopbackServer
from vvbuild.errors import (
    CancelledError,
    DigestMismatchError,
    NetworkError,
    NotFoundOnServerError,
    SizeMismatchError,
)
from vvbuild.fetch.attempts import Patience, RetryPolicy
from vvbuild.fetch.session import Session
from vvbuild.locking import run as locking
from vvbuild.locking.run import LockResult, lock_release
from vvbuild.manifest.lock import load_lock
from vvbuild.manifest.release import LoadedRelease, load_release
from vvbuild.model.digest import Digest
from vvbuild.model.events import Event, Progress
from vvbuild.runtime.cancel import Cancel

LINUX, WIN = b"linux wheel " * 1000, b"win wheel " * 1000
LINUX_NAME, WIN_NAME = "linux-1.23.2.whl", "win.whl"


@pytest.fixture
def loaded(server: LoopbackServer, write: Callable[[str], Path], tiny: str) -> LoadedRelease:
    """A release of which one file is on an index, and one at a URL that says nothing of it."""
    text = edited(
        tiny, '["pypi:onnxruntime/{version}/win.whl", "https://host.example/win.whl"]',
        f'["{server.url("/loose/win.whl")}"]\nsource = "url"',
    )  # fmt: skip
    return load_release(write(text), allow_local=True)


@pytest.fixture
def lock(
    server: LoopbackServer,
    loaded: LoadedRelease,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., LockResult]:
    """Lock the release as one command does; events go into ``lock.events``."""
    monkeypatch.setattr(locking, "lock_path", lambda name: tmp_path / f"{name}.lock.json")
    cancel, patience = Cancel(), Patience(RetryPolicy(jitter=0.0), pause=Waits())

    def lock() -> LockResult:
        with Session(
            allow_local=True, indexes=indexes_of(server), patience=patience, cancel=cancel
        ) as session:
            return lock_release(loaded, session=session, emit=lock.events.append, cancel=cancel)

    lock.events: list[Event] = []
    lock.cancel = cancel
    return lock


def serve(server: LoopbackServer, *script: object, linux: bytes = LINUX, **options: object) -> None:
    server.pypi("onnxruntime", {LINUX_NAME: linux}, **options)
    server.serve("/loose/win.whl", WIN, *script)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_digests_come_from_the_index_and_else_from_the_bytes(
    server: LoopbackServer, lock: Callable[..., LockResult], loaded: LoadedRelease, tmp_path: Path
) -> None:
    serve(server)

    result = lock()

    assert [(row.name, row.sha256, row.size) for row in result.artifacts] == [
        (LINUX_NAME, digest(LINUX), len(LINUX)), (WIN_NAME, digest(WIN), len(WIN)),
    ]  # fmt: skip
    assert [row.provenance["sha256"] for row in result.artifacts] == [
        "index of pypi", "downloaded and hashed",
    ]  # fmt: skip
    assert server.asked(f"/files/{LINUX_NAME}") == []
    assert result.changed == (LINUX_NAME, WIN_NAME)
    assert Progress("lock tiny", 2, 2, "artifacts") in lock.events
    read = load_lock(
        tmp_path / "tiny.lock.json", expected=loaded.pins_digest, release="tiny",
        pinned=loaded.artifacts, allow_local=True,
    )  # fmt: skip
    assert [item.sha256 for item in read.artifacts] == [
        Digest.of_bytes(LINUX), Digest.of_bytes(WIN),
    ]  # fmt: skip


def test_locking_again_changes_nothing(
    server: LoopbackServer, lock: Callable[..., LockResult], tmp_path: Path
) -> None:
    serve(server)
    lock()
    before = (tmp_path / "tiny.lock.json").read_bytes()

    assert lock().changed == ()
    assert (tmp_path / "tiny.lock.json").read_bytes() == before
    assert list(json.loads(before)) == ["schema", "release", "manifest_sha256", "artifacts"]


def test_what_changed_is_named(server: LoopbackServer, lock: Callable[..., LockResult]) -> None:
    serve(server)
    lock()
    serve(server, linux=b"another")

    assert lock().changed == (LINUX_NAME,)


@pytest.mark.parametrize("there", [None, b"", b"{", b'{"artifacts": 1}'])
def test_an_old_lock_that_cannot_be_read_is_replaced(
    there: bytes | None, server: LoopbackServer, lock: Callable[..., LockResult], tmp_path: Path
) -> None:
    serve(server)
    if there is not None:
        (tmp_path / "tiny.lock.json").write_bytes(there)

    assert len(lock().changed) == 2


@pytest.mark.parametrize(
    ("status", "kind"), [(404, NotFoundOnServerError), (500, NetworkError), (403, NetworkError)]
)
def test_b109_an_error_page_is_never_locked(
    status: int,
    kind: type,
    server: LoopbackServer,
    lock: Callable[..., LockResult],
    tmp_path: Path,
) -> None:
    serve(server)
    server.serve("/loose/win.whl", b"", always=Status(status, body=b"Not Found"))

    with pytest.raises(kind) as caught:
        lock()

    assert caught.value.exit_status == 3
    assert str(status) in caught.value.message
    assert not (tmp_path / "tiny.lock.json").exists()


@pytest.mark.parametrize("fault", [Status(503), Cut(100)], ids=["busy", "cut"])
def test_b110_a_download_that_fails_once_is_tried_again(
    fault: object, server: LoopbackServer, lock: Callable[..., LockResult]
) -> None:
    serve(server, fault)

    assert lock().artifacts[1].sha256 == digest(WIN)
    assert len(server.asked("/loose/win.whl")) == 2


def test_a_file_that_is_larger_than_allowed_is_not_locked(
    server: LoopbackServer, lock: Callable[..., LockResult], tmp_path: Path
) -> None:
    serve(server)
    server.serve("/loose/win.whl", b"x" * (21 << 20))

    with pytest.raises(SizeMismatchError, match=r"win\.whl is larger than 20\.0 MiB"):
        lock()
    assert not (tmp_path / "tiny.lock.json").exists()


def test_a_file_that_its_index_does_not_know_is_named(
    server: LoopbackServer, lock: Callable[..., LockResult]
) -> None:
    serve(server)
    server.pypi("onnxruntime", {"linux-1.23.1.whl": LINUX})

    with pytest.raises(NotFoundOnServerError, match=r"linux-1\.23\.1\.whl"):
        lock()


def test_b117_a_file_that_differs_from_its_index_is_not_locked(
    server: LoopbackServer, lock: Callable[..., LockResult], tmp_path: Path
) -> None:
    """The index tells a digest and no size, so the file is read."""
    serve(server, html=True, digests={LINUX_NAME: "0" * 64})

    with pytest.raises(DigestMismatchError, match="is not what its index says") as caught:
        lock()

    assert caught.value.context == {"index says": "0" * 64, "file has": digest(LINUX)}
    assert not (tmp_path / "tiny.lock.json").exists()


def test_locking_can_be_interrupted_in_the_middle_of_a_download(
    server: LoopbackServer, lock: Callable[..., LockResult], tmp_path: Path
) -> None:
    serve(server, Stall(100))
    caught: list[BaseException] = []

    def work() -> None:
        try:
            lock()
        except CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not server.asked("/loose/win.whl"):
        thread.join(0.01)
    lock.cancel.set()
    thread.join(30)

    assert not thread.is_alive()
    assert len(caught) == 1
    assert not (tmp_path / "tiny.lock.json").exists()
