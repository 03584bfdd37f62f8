"""What a transfer promises: the right bytes, or nothing and the whole story."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from tests.fetch.conftest import artifact_for
from tests.server.faults import Announce, Endless, NoLength, Redirect, Replace, Status
from vvbuild.errors import (
    BadReferenceError,
    DigestMismatchError,
    NetworkError,
    NotFoundOnServerError,
    OfflineError,
    SizeMismatchError,
)
from vvbuild.fetch.session import Session
from vvbuild.fetch.transfer import fetch_artifact
from vvbuild.model.digest import Digest
from vvbuild.model.events import Note, Progress
from vvbuild.model.size import ByteSize


def test_a_file_arrives_whole_with_the_umask_of_the_user(server, session, body, dest):
    artifact = artifact_for(body, server.serve("/thing.bin", body))
    old = os.umask(0o027)
    try:
        assert fetch_artifact(artifact, dest, session=session) == dest
    finally:
        os.umask(old)
    assert dest.read_bytes() == body
    assert [path.name for path in dest.parent.iterdir()] == ["thing.bin"]
    assert stat.S_IMODE(dest.stat().st_mode) == 0o640


def test_an_empty_file_is_a_file(server, session, dest):
    artifact = artifact_for(b"", server.serve("/thing.bin", b""))
    assert fetch_artifact(artifact, dest, session=session).read_bytes() == b""


def test_the_server_is_told_who_asks_and_that_no_coding_is_wanted(server, session, body, dest):
    artifact = artifact_for(body, server.serve("/thing.bin", body))
    fetch_artifact(artifact, dest, session=session)
    headers = server.requests[0].headers
    assert headers["user-agent"].startswith("vvbuild/")
    assert headers["accept-encoding"] == "identity"
    assert "range" not in headers


def test_a_wrong_digest_leaves_nothing_behind(server, session, waits, body, dest, nothing_left):
    wrong = bytes(body[:-1]) + b"!"
    artifact = artifact_for(body, server.serve("/thing.bin", wrong))
    with pytest.raises(DigestMismatchError) as caught:
        fetch_artifact(artifact, dest, session=session)
    assert nothing_left()
    assert Digest.of_bytes(wrong).hex in caught.value.message
    assert artifact.sha256.hex in caught.value.message


def test_wrong_bytes_are_not_asked_for_again(server, session, waits, body, dest):
    artifact = artifact_for(body, server.serve("/thing.bin", b"?" * len(body)))
    with pytest.raises(DigestMismatchError):
        fetch_artifact(artifact, dest, session=session)
    assert len(server.requests) == 1
    assert waits.seconds == []


def test_after_wrong_bytes_the_next_reference_is_tried(server, session, body, dest):
    bad = server.serve("/bad/thing.bin", b"?" * len(body))
    good = server.serve("/good/thing.bin", body)
    fetch_artifact(artifact_for(body, bad, good), dest, session=session)
    assert dest.read_bytes() == body
    assert "range" not in server.asked("/good/thing.bin")[0].headers


def test_what_stood_there_stays_when_the_transfer_fails(server, session, body, dest):
    dest.parent.mkdir()
    dest.write_bytes(b"old")
    artifact = artifact_for(body, server.serve("/thing.bin", body, always=Status(404)))
    with pytest.raises(NotFoundOnServerError):
        fetch_artifact(artifact, dest, session=session)
    assert dest.read_bytes() == b"old"


@pytest.mark.parametrize("change", [-1, 1, -1000, 1000])
def test_a_contradicting_content_length_is_seen_before_the_body(
    server, session, body, dest, nothing_left, change
):
    url = server.serve("/thing.bin", body, always=Announce(len(body) + change))
    with pytest.raises(SizeMismatchError, match=str(len(body) + change)):
        fetch_artifact(artifact_for(body, url), dest, session=session)
    assert len(server.requests) == 1
    assert nothing_left()


def test_more_than_max_size_is_refused_by_its_announcement(server, session, body, dest):
    artifact = artifact_for(
        body, server.serve("/thing.bin", body), size=None, max_size=ByteSize(len(body) - 1)
    )
    with pytest.raises(SizeMismatchError):
        fetch_artifact(artifact, dest, session=session)


def test_a_body_without_a_length_may_be_as_large_as_max_size(server, session, body, dest):
    url = server.serve("/thing.bin", body, always=NoLength())
    artifact = artifact_for(body, url, size=None, max_size=ByteSize(len(body)))
    assert fetch_artifact(artifact, dest, session=session).read_bytes() == body


@pytest.mark.parametrize("known", [True, False], ids=["size", "max_size"])
def test_an_endless_body_is_cut_off_at_the_limit(server, session, body, dest, nothing_left, known):
    url = server.serve("/thing.bin", body, always=Endless())
    size = ByteSize(len(body))
    artifact = artifact_for(
        body, url, size=size if known else None, max_size=None if known else size
    )
    with pytest.raises(SizeMismatchError, match="more than"):
        fetch_artifact(artifact, dest, session=session)
    assert len(server.requests) == 1
    assert nothing_left()


def test_a_single_byte_too_many_is_not_taken(server, session, body, dest):
    url = server.serve("/thing.bin", body + b"!", always=NoLength())
    with pytest.raises(SizeMismatchError, match=f"more than {len(body)} bytes"):
        fetch_artifact(artifact_for(body, url), dest, session=session)


def test_a_html_page_is_called_one(server, session, body, dest):
    page = Replace(b"<!DOCTYPE html><title>Sign in</title>", "text/html; charset=utf-8")
    url = server.serve("/thing.bin", body, always=page)
    with pytest.raises(NetworkError, match="an HTML page where the file should be"):
        fetch_artifact(artifact_for(body, url), dest, session=session)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("beginning", "name"), [(b"\xef\xbb\xbf\n<HTML>", "an HTML page"), (b' {"', "a JSON document")]
)
def test_a_page_of_the_right_size_and_a_lying_type_is_called_one(
    server, session, body, dest, beginning, name
):
    url = server.serve("/thing.bin", beginning.ljust(len(body)))
    with pytest.raises(NetworkError, match=name):
        fetch_artifact(artifact_for(body, url), dest, session=session)


def test_the_right_bytes_under_a_wrong_type_are_right(server, session, body, dest):
    url = server.serve("/thing.bin", body, content_type="text/html")
    assert fetch_artifact(artifact_for(body, url), dest, session=session).read_bytes() == body


def test_a_json_artifact_may_be_json(server, session, dest):
    data = b'{"not": "the locked one"}'
    url = server.serve("/index.json", data, content_type="application/json")
    artifact = artifact_for(data[::-1], url, name="index.json")
    with pytest.raises(DigestMismatchError):
        fetch_artifact(artifact, dest, session=session)


def test_a_content_encoding_changes_no_byte(server, session, dest):
    import gzip

    data = gzip.compress(b"a tarball that a server takes for a coding" * 999)
    coded = Replace(data, "application/x-tar", {"Content-Encoding": "gzip"})
    url = server.serve("/thing.tgz", data, always=coded)
    artifact = artifact_for(data, url, name="thing.tgz")
    assert fetch_artifact(artifact, dest, session=session).read_bytes() == data


def test_an_unasked_coding_is_named(server, session, body, dest):
    import gzip

    coded = Replace(gzip.compress(body), headers={"Content-Encoding": "gzip"})
    url = server.serve("/thing.bin", body, always=coded)
    with pytest.raises(SizeMismatchError, match="'gzip', against our request"):
        fetch_artifact(artifact_for(body, url), dest, session=session)


def test_the_error_tells_every_attempt(server, session, body, dest):
    first = server.serve("/a/thing.bin", body, always=Status(503))
    second = server.serve("/b/thing.bin", body, always=Status(404))
    with pytest.raises(NetworkError) as caught:
        fetch_artifact(artifact_for(body, first, second), dest, session=session)
    told = caught.value.context
    assert len(told) == 8
    assert told["attempt 1"].startswith(f"{first}: answered 503 Service Unavailable (")
    assert told["attempt 8"].startswith(f"{second}: answered 404 Not Found (")
    assert all(line.endswith(" s)") for line in told.values())
    assert "8 attempts at 2 sources" in caught.value.message


def test_wrong_bytes_anywhere_outweigh_a_lost_network(server, session, body, dest):
    bad = server.serve("/bad/thing.bin", b"?" * len(body))
    down = server.serve("/down/thing.bin", body, always=Status(500))
    with pytest.raises(DigestMismatchError):
        fetch_artifact(artifact_for(body, bad, down), dest, session=session)


def test_each_wait_is_told_while_it_happens(server, session, events, body, dest):
    url = server.serve("/thing.bin", body, Status(503))
    fetch_artifact(artifact_for(body, url), dest, session=session, emit=events)
    notes = [event for event in events.seen if isinstance(event, Note)]
    assert [note.level for note in notes] == ["warning"]
    assert notes[0].text == "thing.bin: answered 503 Service Unavailable; next attempt in 1 s"


def test_progress_is_told_at_most_ten_times_a_second_and_ends_at_the_total(
    server, session, events, dest
):
    data = bytes(40 << 20)
    ticks = iter(i / 1000 for i in range(1_000_000))
    session.patience.clock = lambda: next(ticks)
    fetch_artifact(
        artifact_for(data, server.serve("/thing.bin", data)), dest, session=session, emit=events
    )
    told = [event for event in events.seen if isinstance(event, Progress)]
    assert {(event.task, event.total, event.unit) for event in told} == {
        ("thing.bin", len(data), "bytes")
    }
    done = [event.done for event in told]
    assert done == sorted(set(done))
    assert (done[0], done[-1]) == (0, len(data))
    assert len(told) <= 2 + next(ticks) * 10


def test_memory_does_not_grow_with_the_file(server, session, tmp_path, dest):
    source = tmp_path / "big"
    with source.open("wb") as stream:
        stream.truncate(96 << 20)
    from vvbuild.runtime.files import hash_file

    artifact = artifact_for(
        b"", server.serve("/thing.bin", source), sha256=hash_file(source), size=ByteSize(96 << 20)
    )
    tracemalloc.start()
    try:
        fetch_artifact(artifact, dest, session=session)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20


def test_offline_opens_no_socket(server, body, dest, nothing_left):
    artifact = artifact_for(body, server.serve("/thing.bin", body))
    with Session(allow_local=True, offline=True) as session, pytest.raises(OfflineError):
        fetch_artifact(artifact, dest, session=session)
    assert server.requests == []
    assert nothing_left()


def test_offline_a_local_file_may_still_be_read(tmp_path, body, dest):
    source = tmp_path / "source file.bin"
    source.write_bytes(body)
    with Session(allow_local=True, offline=True) as session:
        fetch_artifact(artifact_for(body, source.as_uri()), dest, session=session)
    assert dest.read_bytes() == body


def test_local_files_need_permission(tmp_path, body, dest):
    source = tmp_path / "source.bin"
    source.write_bytes(body)
    with Session() as session, pytest.raises(BadReferenceError, match="not allowed"):
        fetch_artifact(artifact_for(body, source.as_uri()), dest, session=session)


def test_a_missing_local_file_is_not_found(session, tmp_path, body, dest):
    artifact = artifact_for(body, (tmp_path / "nothing.bin").as_uri())
    with pytest.raises(NotFoundOnServerError):
        fetch_artifact(artifact, dest, session=session)


def test_a_directory_is_no_local_file(session, tmp_path, body, dest):
    with pytest.raises(NotFoundOnServerError):
        fetch_artifact(artifact_for(body, tmp_path.as_uri()), dest, session=session)


def test_a_changed_local_file_is_refused(session, tmp_path, body, dest, nothing_left):
    source = tmp_path / "source.bin"
    source.write_bytes(b"?" * len(body))
    with pytest.raises(DigestMismatchError):
        fetch_artifact(artifact_for(body, source.as_uri()), dest, session=session)
    source.write_bytes(body + b"!")
    with pytest.raises(SizeMismatchError):
        fetch_artifact(artifact_for(body, source.as_uri()), dest, session=session)
    assert nothing_left()


_DISK_FULL = """
import resource, sys
from pathlib import Path
from tests.fetch.conftest import artifact_for
from vvbuild.errors import DiskFullError
from vvbuild.fetch.session import Session
from vvbuild.fetch.transfer import fetch_artifact
url, dest = sys.argv[1], Path(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    with Session(allow_local=True) as session:
        fetch_artifact(artifact_for(bytes(300_000), url), dest, session=session)
except DiskFullError as error:
    print("disk full:", list(dest.parent.iterdir()), error.hint)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_is_named_and_left_clean(server, dest):
    url = server.serve("/thing.bin", bytes(300_000))
    done = subprocess.run(
        [sys.executable, "-c", _DISK_FULL, url, str(dest)],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.startswith("disk full: [] Free some space")


def test_a_directory_that_cannot_be_made_is_named(server, session, body, tmp_path):
    from vvbuild.errors import ResourceError

    (tmp_path / "file").write_bytes(b"")
    artifact = artifact_for(body, server.serve("/thing.bin", body))
    with pytest.raises(ResourceError):
        fetch_artifact(artifact, tmp_path / "file" / "thing.bin", session=session)


def test_a_redirect_is_followed_and_the_range_goes_along(server, other_server, session, body, dest):
    target = other_server.serve("/real.bin", body)
    url = server.serve("/thing.bin", b"", always=Redirect(target))
    fetch_artifact(artifact_for(body, url), dest, session=session)
    assert dest.read_bytes() == body
