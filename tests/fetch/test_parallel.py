"""Many files into the store: each once, together as fast as they come, and every failure told."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.fetch.conftest import artifact_for
from tests.forks import run_program
from tests.server.faults import Cut, Stall, Status
from vvbuild.errors import (
    CancelledError,
    DigestMismatchError,
    NetworkError,
    NotFoundOnServerError,
    OfflineError,
    ResourceError,
)
from vvbuild.fetch.parallel import fetch_all
from vvbuild.fetch.session import Session
from vvbuild.fetch.store import Store
from vvbuild.model.events import Progress
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file

PROGRAM = Path(__file__).parent / "transfer_programs.py"
ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "store")
    made.prepare()
    return made


def blob(number: int, size: int) -> bytes:
    return random.Random(number).randbytes(size)


def served(server, number: int, size: int = 5000, *script, **facts):
    data = blob(number, size)
    url = server.serve(f"/f{number}", data, *script, **facts)
    return artifact_for(data, url, name=f"f{number}")


def plan_of(server, path: Path, sizes: list[int]) -> Path:
    artifacts = [served(server, number, size) for number, size in enumerate(sizes)]
    rows = [(a.name, str(a.references[0]), a.sha256.hex, int(a.size or 0)) for a in artifacts]
    path.write_text(json.dumps(rows))
    return path


def partials(store: Store) -> list[str]:
    found = [path.suffix for path in (store.base / "partial").iterdir()]
    return sorted(suffix for suffix in found if suffix != ".lock")


def holds(store: Store, artifact) -> bool:
    path = store.file_path(artifact.sha256)
    return path.is_file() and hash_file(path) == artifact.sha256


def test_all_files_come_into_the_store_each_once(server, session, store):
    artifacts = [served(server, number) for number in range(40)]
    paths = fetch_all([*artifacts, *artifacts[:5]], store, session=session)
    assert set(paths) == {artifact.sha256 for artifact in artifacts}
    assert all(holds(store, artifact) for artifact in artifacts)
    assert len(server.requests) == 40
    assert partials(store) == []


def test_what_the_store_has_is_not_asked_for(server, session, store):
    artifacts = [served(server, number) for number in range(6)]
    fetch_all(artifacts[:3], store, session=session)
    server.requests.clear()
    fetch_all(artifacts, store, session=session)
    assert sorted(request.path for request in server.requests) == ["/f3", "/f4", "/f5"]
    fetch_all(artifacts, store, session=session)
    assert len(server.requests) == 3


def test_nothing_to_fetch_opens_nothing(session, store):
    assert fetch_all([], store, session=session) == {}


def test_progress_is_told_for_each_and_for_all_together(server, session, store, events):
    artifacts = [served(server, number) for number in range(5)]
    fetch_all(artifacts, store, session=session, emit=events, task="everything")
    told = [event for event in events.seen if isinstance(event, Progress)]
    assert {event.task for event in told} == {"everything", *(a.name for a in artifacts)}
    overall = [event.done for event in told if event.task == "everything"]
    assert overall == sorted(set(overall))
    assert overall[-1] == 5 * 5000
    assert {event.total for event in told if event.task == "everything"} == {5 * 5000}


def test_a_single_failure_is_told_as_it_is(server, session, store):
    good, bad = served(server, 1), served(server, 2, 5000, always=Status(404))
    with pytest.raises(NotFoundOnServerError, match=r"^Could not get f2\. "):
        fetch_all([good, bad], store, session=session, jobs=1)


def test_the_first_failure_ends_the_rest_and_what_is_complete_stays(server, session, store):
    good = [served(server, number) for number in range(3)]
    bad = served(server, 3, 2 << 20, always=Status(404))
    # Stalls until the test is over: only being told to stop ends it.
    stuck = served(server, 4, 2 << 20, always=Stall(1000))
    fetch_all(good, store, session=session)
    with pytest.raises(NotFoundOnServerError, match="f3"):
        fetch_all([*good, bad, stuck], store, session=session)
    assert all(holds(store, artifact) for artifact in good)
    # Its first bytes are kept for the next time.
    assert partials(store) in ([".map", ".part"], [])
    assert not server.closing.is_set()


def test_files_that_fail_at_the_same_time_are_told_together(server, session, store):
    """Each waits with its failure until the other has its own."""
    meet, original = threading.Barrier(2, timeout=30), session.open
    artifacts = [served(server, number, 2 << 20) for number in (1, 2)]

    def refused(url, *words, **options):
        meet.wait()
        raise NetworkError(f"{url[-2:]} was refused")

    session.open = refused
    with pytest.raises(NetworkError, match="2 of 2 files") as caught:
        fetch_all(artifacts, store, session=session)
    session.open = original
    assert set(caught.value.context) == {"f1", "f2"}


def test_together_the_gravest_kind_is_raised_with_each_message():
    from vvbuild.fetch.parallel import _together

    failures = [
        ("a", NotFoundOnServerError("a is gone")),
        ("b", DigestMismatchError("b is wrong", hint="Do not use it.")),
    ]
    error = _together(failures, 7)
    assert isinstance(error, DigestMismatchError)
    assert error.message == "Could not get 2 of 7 files. b is wrong"
    assert error.context == {"a": "a is gone", "b": "b is wrong"}
    assert error.hint == "Do not use it."
    fault = KeyError("ours")
    assert _together([*failures, ("c", fault)], 7) is fault


def test_wrong_bytes_never_enter_the_store(server, session, store):
    artifact = served(server, 1)
    server.serve("/f1", b"?" * 5000)
    with pytest.raises(DigestMismatchError):
        fetch_all([artifact], store, session=session)
    assert not store.file_path(artifact.sha256).exists()
    assert partials(store) == []


def test_offline_names_all_that_is_missing_before_a_socket_opens(server, session, store):
    artifacts = [served(server, number) for number in range(3)]
    fetch_all(artifacts[:1], store, session=session)
    server.requests.clear()
    with Session(allow_local=True, offline=True) as offline:
        with pytest.raises(OfflineError, match="2 files") as caught:
            fetch_all(artifacts, store, session=offline)
        assert set(caught.value.context) == {"f1", "f2"}
        fetch_all(artifacts[:1], store, session=offline)
    assert server.requests == []


def test_offline_reads_files_of_this_machine(session, store, tmp_path):
    source = tmp_path / "source.bin"
    source.write_bytes(b"bytes")
    with Session(allow_local=True, offline=True) as offline:
        artifact = artifact_for(b"bytes", source.as_uri())
        fetch_all([artifact], store, session=offline)
    assert holds(store, artifact)


def test_cancelled_it_ends_though_servers_are_silent(server, session, store):
    cancel = Cancel()
    sizes = {1: 5000, 2: 2 << 20}
    artifacts = [served(server, n, size, always=Stall(None)) for n, size in sizes.items()]
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(CancelledError):
        fetch_all(artifacts, store, session=session, cancel=cancel)
    assert not server.closing.is_set()


def test_a_store_that_cannot_be_written_is_named(server, session, store):
    artifact = served(server, 1)
    (store.base / "partial").write_bytes(b"in the way")
    with pytest.raises(ResourceError):
        fetch_all([artifact], store, session=session)
    assert server.requests == []


_READ_ONLY = """
import sys
from pathlib import Path
from tests.fetch.transfer_programs import fetch
from vvbuild.errors import PermissionDeniedError
try:
    fetch(Path(sys.argv[1]), Path(sys.argv[2]))
except PermissionDeniedError as error:
    print("refused:", error.hint)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a directory read-only")
def test_a_read_only_store_is_named(server, store, tmp_path):
    plan = plan_of(server, tmp_path / "plan", [5000])
    script = 'mount --bind -o ro "$1" "$1" && exec "$2" -c "$3" "$1" "$4"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", store.root, sys.executable, _READ_ONLY, plan],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("this system lets nobody mount")
    assert done.stdout.startswith("refused: Give this user the right"), done.stderr
    assert server.requests == []


_SMALL_DISK = """
import sys
from pathlib import Path
from tests.fetch.transfer_programs import fetch
from vvbuild.errors import DiskFullError
try:
    fetch(Path(sys.argv[1]), Path(sys.argv[2]))
except DiskFullError as error:
    print("full:", sorted(p.suffix for p in Path(sys.argv[1]).glob("v1/files/??/*")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a small disk")
def test_a_disk_that_is_full_is_named_and_nothing_half_is_in_the_store(server, tmp_path):
    plan = plan_of(server, tmp_path / "plan", [4 << 20, 3 << 20, 2 << 20])
    disk = tmp_path / "disk"
    disk.mkdir()
    script = (
        'mount -t tmpfs -o size=6m none "$1" && "$2" -c "$3" "$1/store" "$4" && '
        'for f in "$1"/store/v1/files/*/*; do [ -e "$f" ] && sha256sum "$f"; done; true'
    )
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", disk, sys.executable, _SMALL_DISK, plan],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("this system lets nobody mount")
    assert done.stdout, done.stderr[-3000:]
    first, *sums = done.stdout.splitlines()
    assert first.startswith("full:"), done.stderr
    for line in sums:
        digest, _, path = line.partition("  ")
        assert Path(path).name == digest


# Several processes, and killed ones


@pytest.mark.parametrize("count", [2, 8])
def test_processes_that_fetch_the_same_ask_for_each_byte_once(server, store, tmp_path, count):
    sizes = [20_000] * 30 + [3 << 20] * 3
    plan = plan_of(server, tmp_path / "plan", sizes)
    command = [sys.executable, PROGRAM, "fetch", store.root, plan]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert server.sent == sum(sizes)
    for path in (store.base / "files").glob("??/*"):
        assert hash_file(path).hex == path.name
    assert len(list((store.base / "files").glob("??/*"))) == len(sizes)
    assert partials(store) == []


@pytest.mark.parametrize(("seed", "kills"), [(1, 15), pytest.param(3, 200, marks=pytest.mark.slow)])
def test_killed_at_any_moment_the_next_run_ends_right(server, tmp_path, seed, kills):
    sizes = [20_000] * 20 + [5 << 20] * 3
    plan = plan_of(server, tmp_path / "plan", sizes)
    root = tmp_path / "store"
    halves = int(run_program(PROGRAM, "kill", root, plan, seed, kills, timeout=600))
    # Some died in the middle of a big file, or this test would say nothing.
    assert halves >= 3
    store = Store(root)
    for number, size in enumerate(sizes):
        assert holds(store, artifact_for(blob(number, size), "https://example.com/x"))
    assert partials(store) == []


def test_small_files_are_not_gone_on_with(server, session, store):
    artifact = served(server, 1, 5000, Cut(1000), always=Status(404))
    with pytest.raises(NetworkError):
        fetch_all([artifact], store, session=session)
    assert partials(store) == []
