"""After a lost connection the rest is fetched, not the whole, and never a wrong mixture."""

from __future__ import annotations

import json
import os
import random
import tempfile
import threading
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fetch.conftest import artifact_for
from tests.server.faults import (
    Announce,
    BadContentRange,
    Cut,
    Drop,
    Fault,
    IgnoreRange,
    Replace,
    Reset,
    Status,
    WrongRange,
)
from vvbuild.errors import (
    CancelledError,
    DigestMismatchError,
    IntegrityError,
    NetworkError,
    SizeMismatchError,
)
from vvbuild.fetch.attempts import RetryPolicy
from vvbuild.fetch.lanes import PiecePolicy
from vvbuild.fetch.partials import KEPT_SECONDS, Partials
from vvbuild.fetch.ranges import ContentRange, range_headers, validator
from vvbuild.fetch.sink import Sink
from vvbuild.fetch.transfer import fetch_artifact
from vvbuild.runtime.cancel import Cancel

AT = 100_000


@pytest.mark.parametrize("fault", [Cut(AT), Reset(AT)], ids=["closed", "reset"])
def test_a_lost_connection_continues_where_it_stopped(server, session, waits, body, dest, fault):
    url = server.serve("/thing.bin", body, fault, etag='"one"')
    fetch_artifact(artifact_for(body, url), dest, session=session)
    assert dest.read_bytes() == body
    first, second = server.requests
    assert "range" not in first.headers
    begin = int(second.headers["range"].removeprefix("bytes=").removesuffix("-"))
    # A reset may take along what was on its way.
    assert 0 < begin <= AT
    assert second.headers["if-range"] == '"one"'
    assert waits.seconds == [1.0]


def test_a_connection_dropped_before_an_answer_is_tried_again(server, session, body, dest):
    url = server.serve("/thing.bin", body, Drop(), Drop())
    fetch_artifact(artifact_for(body, url), dest, session=session)
    assert len(server.requests) == 3
    assert all("range" not in request.headers for request in server.requests)


def test_a_file_survives_any_number_of_cuts_while_it_grows(server, session, waits, dest):
    session.patience.policy = RetryPolicy(waits=(1.0, 2.0), jitter=0.0, progress_bytes=1000)
    data = bytes(range(250)) * 80
    url = server.serve("/thing.bin", data, always=Cut(1000))
    fetch_artifact(artifact_for(data, url), dest, session=session)
    assert dest.read_bytes() == data
    assert waits.seconds == [1.0] * 19


def test_a_file_that_does_not_grow_is_given_up(server, session, waits, body, dest, nothing_left):
    url = server.serve("/thing.bin", body, always=Cut(0))
    with pytest.raises(NetworkError, match="7 attempts at 1 source failed"):
        fetch_artifact(artifact_for(body, url), dest, session=session)
    assert waits.seconds == [1, 2, 4, 8, 16, 32]
    assert nothing_left()


def test_an_early_end_is_told_with_its_place(server, session, body, dest):
    url = server.serve("/thing.bin", body, always=Cut(AT), ranges=False)
    with pytest.raises(NetworkError) as caught:
        fetch_artifact(artifact_for(body, url), dest, session=session)
    assert "connection was lost" in caught.value.context["attempt 1"]


def test_200_after_a_range_starts_over(server, session, body, dest):
    url = server.serve("/thing.bin", body, Cut(AT), IgnoreRange())
    fetch_artifact(artifact_for(body, url), dest, session=session)
    assert dest.read_bytes() == body
    assert len(server.requests) == 2


def test_a_file_that_changed_meanwhile_starts_over(server, session, body, dest):
    url = server.serve("/thing.bin", b"?" * len(body), Cut(AT), etag='"old"')
    old = server.resources["/thing.bin"]

    def change(seconds, cancel):
        server.serve("/thing.bin", body, etag='"new"')

    session.patience.pause = change
    fetch_artifact(artifact_for(body, url), dest, session=session)
    assert dest.read_bytes() == body
    assert server.requests[1].headers["if-range"] == old.etag
    assert len(server.requests) == 2


@pytest.mark.parametrize("shift", [-1, 1, -AT, 5000])
def test_a_part_from_another_place_is_never_used(server, session, body, dest, shift):
    url = server.serve("/thing.bin", body, Cut(AT), WrongRange(shift))
    fetch_artifact(artifact_for(body, url), dest, session=session)
    assert dest.read_bytes() == body
    assert [("range" in request.headers) for request in server.requests] == [False, True, False]


@pytest.mark.parametrize("text", [None, "bytes */300004", "items 1-2/3", "bytes 5-4/9", ""])
def test_a_part_that_does_not_say_its_place_is_never_used(server, session, body, dest, text):
    url = server.serve("/thing.bin", body, Cut(AT), BadContentRange(text))
    fetch_artifact(artifact_for(body, url), dest, session=session)
    assert dest.read_bytes() == body
    assert [("range" in request.headers) for request in server.requests] == [False, True, False]


def test_a_part_of_another_total_is_refused(server, session, body, dest, nothing_left):
    url = server.serve(
        "/thing.bin", body, Cut(AT), BadContentRange(f"bytes {AT}-{len(body)}/{len(body) + 1}")
    )
    with pytest.raises(SizeMismatchError, match=str(len(body) + 1)):
        fetch_artifact(artifact_for(body, url), dest, session=session)
    assert nothing_left()


def test_a_refused_range_starts_over(server, session, body, dest):
    url = server.serve("/thing.bin", body, Cut(AT), Status(416))
    fetch_artifact(artifact_for(body, url), dest, session=session)
    assert dest.read_bytes() == body


def test_a_part_that_was_not_asked_for_is_refused(server, session, body, dest, nothing_left):
    url = server.serve("/thing.bin", body, always=Status(206, body=body))
    with pytest.raises(NetworkError, match="206 Partial Content"):
        fetch_artifact(artifact_for(body, url), dest, session=session)
    assert nothing_left()


def test_parts_that_do_not_fit_are_fetched_again_as_a_whole_and_once(server, session, body, dest):
    """A server that ignores If-Range mixes two files; only a whole answer proves it wrong."""
    wrong = b"?" * len(body)
    url = server.serve("/thing.bin", wrong, Cut(AT), etag=None)

    def change(seconds, cancel):
        server.serve("/thing.bin", body, etag=None)

    session.patience.pause = change
    fetch_artifact(artifact_for(body, url), dest, session=session)
    assert dest.read_bytes() == body
    assert [("range" in request.headers) for request in server.requests] == [False, True, False]


def test_a_whole_that_is_wrong_after_misfitting_parts_ends_it(server, session, body, dest):
    url = server.serve("/thing.bin", b"?" * len(body), Cut(AT), etag=None)
    with pytest.raises(DigestMismatchError):
        fetch_artifact(artifact_for(body, url), dest, session=session)
    assert len(server.requests) == 3


def test_wrong_bytes_at_the_resume_do_not_outlive_it(server, session, body, dest):
    url = server.serve("/thing.bin", body, Cut(AT), Replace(b"?" * len(body)))
    with pytest.raises(DigestMismatchError):
        fetch_artifact(artifact_for(body, url), dest, session=session)
    assert len(server.requests) == 2


def test_a_strong_etag_is_preferred_and_a_weak_one_is_not_used():
    assert validator({"etag": '"a"', "last-modified": "then"}) == '"a"'
    assert validator({"etag": 'W/"a"', "last-modified": "then"}) == "then"
    assert validator({"etag": 'W/"a"'}) is None


def test_last_modified_serves_where_there_is_no_etag(server, session, body, dest):
    when = "Wed, 21 Oct 2015 07:28:00 GMT"
    url = server.serve("/thing.bin", body, Cut(AT), etag=None, last_modified=when)
    fetch_artifact(artifact_for(body, url), dest, session=session)
    assert server.requests[1].headers["if-range"] == when


def test_the_next_source_starts_from_nothing(server, session, body, dest):
    first = server.serve("/a/thing.bin", body, Cut(AT), Status(404))
    second = server.serve("/b/thing.bin", body)
    fetch_artifact(artifact_for(body, first, second), dest, session=session)
    assert "range" not in server.asked("/b/thing.bin")[0].headers


# Between runs

BIG = 2 << 20


@pytest.fixture
def partials(tmp_path):
    return Partials(tmp_path / "partial")


@pytest.fixture
def data():
    return random.Random(3).randbytes(BIG)


def stopped_at(server, session, partials, data, dest, at, **facts):
    """A run that ends with a partial file, and the URL that is served well from now on."""
    url = server.serve("/thing.bin", data, Cut(at), always=Status(404), **facts)
    with pytest.raises(NetworkError):
        fetch_artifact(artifact_for(data, url), dest, session=session, partials=partials)
    assert not dest.exists()
    server.requests.clear()
    return server.serve("/thing.bin", data, **facts)


def left(partials, suffix):
    return next(partials.directory.glob(f"*{suffix}"), None)


def test_the_next_run_fetches_only_the_rest(server, session, partials, data, dest):
    url = stopped_at(server, session, partials, data, dest, 1 << 20, etag='"one"')
    fetch_artifact(artifact_for(data, url), dest, session=session, partials=partials)
    assert dest.read_bytes() == data
    (only,) = server.requests
    assert only.headers["range"] == f"bytes={1 << 20}-"
    assert only.headers["if-range"] == '"one"'
    assert left(partials, ".part") is None
    assert left(partials, ".map") is None


def test_the_next_run_fetches_only_missing_pieces(server, session, partials, data, dest):
    session.pieces = PiecePolicy(least=1000, piece=300_000, most=1, enough=float("inf"))
    url = server.serve("/thing.bin", data, Fault(), Fault(), Cut(1000), always=Status(404))
    with pytest.raises(NetworkError):
        fetch_artifact(artifact_for(data, url), dest, session=session, partials=partials)
    server.requests.clear()
    server.sent = 0
    server.serve("/thing.bin", data)
    session.pieces = replace(session.pieces, most=4)
    fetch_artifact(artifact_for(data, url), dest, session=session, partials=partials)
    assert dest.read_bytes() == data
    assert server.sent == len(data) - 601_000
    assert all("if-range" in request.headers for request in server.requests)


def test_a_file_that_changed_between_runs_starts_over(server, session, partials, data, dest):
    old = bytes(BIG)
    url = server.serve("/thing.bin", old, Cut(1 << 20), always=Status(404), etag='"old"')
    with pytest.raises(NetworkError):
        fetch_artifact(artifact_for(data, url), dest, session=session, partials=partials)
    server.serve("/thing.bin", data, etag='"new"')
    fetch_artifact(artifact_for(data, url), dest, session=session, partials=partials)
    assert dest.read_bytes() == data


def test_a_run_that_died_after_the_last_byte_asks_nobody(server, session, partials, data, dest):
    url = stopped_at(server, session, partials, data, dest, 1 << 20)
    left(partials, ".part").write_bytes(data)
    known = json.loads(left(partials, ".map").read_bytes())
    left(partials, ".map").write_text(json.dumps(known | {"spans": [[0, BIG]]}))
    fetch_artifact(artifact_for(data, url), dest, session=session, partials=partials)
    assert dest.read_bytes() == data
    assert server.requests == []


@pytest.mark.parametrize(
    "lie",
    [{"sha256": "0" * 64}, {"size": BIG + 1}, {"size": None}, {"spans": [[0, 2 * BIG]]},
     {"spans": [[-5, 10]]}, {"spans": "all"}, {"spans": [[0, 1 << 80]]}, {"source": None},
     {"spans": []}, {"source": "https://example.com/another"}],
    ids=repr,
)  # fmt: skip
def test_a_map_of_other_bytes_is_never_trusted(server, session, partials, data, dest, lie):
    url = stopped_at(server, session, partials, data, dest, 1 << 20)
    known = json.loads(left(partials, ".map").read_bytes())
    left(partials, ".map").write_text(json.dumps(known | lie))
    fetch_artifact(artifact_for(data, url), dest, session=session, partials=partials)
    assert dest.read_bytes() == data
    assert ["range" in request.headers for request in server.requests] == [False]


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b"\xff", b"[" * 5000])
def test_a_map_that_is_none_is_no_reason_to_fail(server, session, partials, data, dest, text):
    url = stopped_at(server, session, partials, data, dest, 1 << 20)
    left(partials, ".map").write_bytes(text)
    fetch_artifact(artifact_for(data, url), dest, session=session, partials=partials)
    assert dest.read_bytes() == data
    assert len(server.requests) == 1


@pytest.mark.parametrize("damage", [b"?", b""], ids=["changed", "shortened"])
def test_a_partial_file_that_was_damaged_is_proved_wrong(
    server, session, partials, data, dest, damage
):
    url = stopped_at(server, session, partials, data, dest, 1 << 20)
    left(partials, ".part").write_bytes(damage * (1 << 20))
    fetch_artifact(artifact_for(data, url), dest, session=session, partials=partials)
    assert dest.read_bytes() == data
    assert "range" not in server.requests[-1].headers


def test_longer_than_its_map_a_partial_file_is_cut(server, session, partials, data, dest):
    url = stopped_at(server, session, partials, data, dest, 1 << 20)
    with left(partials, ".part").open("ab") as stream:
        stream.write(bytes(2 * BIG))
    fetch_artifact(artifact_for(data, url), dest, session=session, partials=partials)
    assert dest.read_bytes() == data
    assert len(server.requests) == 1


def test_the_source_of_what_is_there_is_asked_first(server, session, partials, data, dest):
    first = server.serve("/a/thing.bin", data, Status(404))
    second = server.serve("/b/thing.bin", data, Cut(1 << 20), Status(404))
    artifact = artifact_for(data, first, second)
    with pytest.raises(NetworkError):
        fetch_artifact(artifact, dest, session=session, partials=partials)
    server.requests.clear()
    fetch_artifact(artifact, dest, session=session, partials=partials)
    assert dest.read_bytes() == data
    assert [request.path for request in server.requests] == ["/b/thing.bin"]


def test_what_nobody_went_on_with_is_pruned_unless_it_is_being_fetched(
    server, session, partials, data, dest
):
    stopped_at(server, session, partials, data, dest, 1 << 20)
    part = left(partials, ".part")
    assert partials.prune() == 0
    for now, kept in ((-KEPT_SECONDS - 9, False), (KEPT_SECONDS + 9, True)):
        # A file from the future, as after a clock that stood in 1980, is not called old.
        part.write_bytes(b"12345")
        os.utime(part, (time.time() + now,) * 2)
        with partials.lock(part.stem, "it", session.cancel):
            assert partials.prune() == 0
        assert partials.prune() == (0 if kept else 5)
        assert part.exists() == kept
    assert left(partials, ".map") is None


def test_who_waits_for_another_process_says_so_and_can_be_cancelled(session, partials, events):
    cancel = Cancel()
    with partials.lock("name", "thing", Cancel()):
        with partials.lock("name", "thing", cancel, events, wait=False) as held:
            assert not held
        threading.Timer(0.3, cancel.set).start()
        with pytest.raises(CancelledError), partials.lock("name", "thing", cancel, events):
            pass
    assert [event.text for event in events.seen] == [
        "Another process is fetching thing; waiting for it."
    ]


@given(st.lists(st.integers(1, 3 << 20), min_size=1, max_size=8), st.randoms())
@settings(max_examples=20, deadline=None)
def test_the_digest_is_right_in_whatever_order_bytes_come(lengths, order):
    data = random.Random(1).randbytes(sum(lengths))
    artifact = artifact_for(data, "https://example.com/x")
    edges = [sum(lengths[:index]) for index in range(len(lengths) + 1)]
    parts = list(pairwise(edges))
    order.shuffle(parts)
    with tempfile.TemporaryDirectory() as folder:
        sink = Sink(Path(folder, "x.part"), artifact)
        for first, end in parts:
            with sink.writer(first) as writer:
                for begin in range(first, end, 1 << 16):
                    writer.write(data[begin : min(begin + (1 << 16), end)])
        assert sink.whole
        assert sink.digest(Cancel()) == artifact.sha256
        sink.close()


@given(
    st.integers(0, 1 << 70), st.integers(0, 1 << 70), st.one_of(st.none(), st.integers(0, 1 << 70))
)
def test_a_content_range_is_read_as_it_is_written_or_refused(first, last, total):
    text = f"bytes {first}-{last}/{'*' if total is None else total}"
    sensible = first <= last and (total is None or last < total)
    assert ContentRange.parse(text) == (ContentRange(first, last, total) if sensible else None)


@given(st.text())
def test_no_text_breaks_the_reader_of_content_ranges(text):
    part = ContentRange.parse(text)
    assert part is None or part.first <= part.last


@given(st.integers(0, 1 << 70), st.one_of(st.none(), st.just('"e"')))
def test_a_range_asks_for_everything_from_the_offset_on(offset, known):
    headers = range_headers(offset, known)
    assert headers["Range"] == f"bytes={offset}-"
    assert headers.get("If-Range") == known


FAULTS = st.one_of(
    st.builds(Cut, st.integers(0, 3000)),
    st.builds(Reset, st.integers(0, 3000)),
    st.builds(Drop),
    st.builds(IgnoreRange),
    st.builds(WrongRange, st.integers(-50, 50)),
    st.builds(
        BadContentRange,
        st.one_of(
            st.none(), st.from_regex(r"bytes [0-9]{1,4}-[0-9]{1,4}/[0-9]{1,4}", fullmatch=True)
        ),
    ),
    st.builds(Status, st.sampled_from([404, 416, 429, 500, 503])),
    st.builds(Announce, st.integers(0, 4000)),
    st.builds(Replace, st.binary(max_size=50)),
)


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(script=st.lists(FAULTS, max_size=6), etag=st.sampled_from(['"e"', 'W/"e"', None]))
def test_after_any_series_of_faults_there_is_the_file_or_nothing(
    server, session, dest, nothing_left, script, etag
):
    data = bytes(index % 251 for index in range(3000))
    dest.unlink(missing_ok=True)
    artifact = artifact_for(data, server.serve("/thing.bin", data, *script, etag=etag))
    try:
        fetch_artifact(artifact, dest, session=session)
    except (NetworkError, IntegrityError):
        assert nothing_left()
    else:
        assert dest.read_bytes() == data
        assert [path.name for path in dest.parent.iterdir()] == ["thing.bin"]
