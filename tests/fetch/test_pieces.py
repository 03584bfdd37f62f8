"""Big files over several connections: faster where that helps, and never a wrong mixture."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fetch.conftest import artifact_for
from tests.fetch.test_resume import FAULTS
from tests.server.faults import (
    BadContentRange,
    Cut,
    Fault,
    IgnoreRange,
    OtherTag,
    Redirect,
    Replace,
    Reset,
    Stall,
    Status,
    WrongRange,
)
from vvbuild.errors import (
    CancelledError,
    DigestMismatchError,
    IntegrityError,
    NetworkError,
    NotFoundOnServerError,
    SizeMismatchError,
)
from vvbuild.fetch.attempts import AttemptError, Patience
from vvbuild.fetch.lanes import Lanes, PiecePolicy
from vvbuild.fetch.pace import Timeouts
from vvbuild.fetch.pieces import ChangedError, WholeOnlyError
from vvbuild.fetch.ranges import Spans, cut
from vvbuild.fetch.session import Session
from vvbuild.fetch.transfer import fetch_artifact
from vvbuild.model.events import Note, Progress
from vvbuild.model.size import ByteSize
from vvbuild.runtime.cancel import Cancel

PIECE = 50_000
# One connection makes the order of requests certain; several ones show that they get along.
ALONE = PiecePolicy(least=1000, piece=PIECE, most=1, enough=float("inf"))
SEVERAL = replace(ALONE, most=4)


@pytest.fixture
def alone(session: Session) -> Session:
    session.pieces = ALONE
    return session


@pytest.fixture
def several(session: Session) -> Session:
    session.pieces = SEVERAL
    return session


def ranges(server, path: str = "/thing.bin") -> list[tuple[int, int] | None]:
    """What was asked for, as half-open intervals; ``None`` for the whole."""
    asked = []
    for request in server.asked(path):
        text = request.headers.get("range")
        first, _, last = (text or "").removeprefix("bytes=").partition("-")
        asked.append((int(first), int(last) + 1) if text and last else None)
    return asked


def pieces_of(size: int) -> list[tuple[int, int]]:
    return list(cut([(0, size)], PIECE))


@pytest.mark.parametrize("policy", [ALONE, SEVERAL], ids=["one", "four"])
def test_each_piece_is_asked_for_once(server, session, waits, body, dest, policy):
    session.pieces = policy
    url = server.serve("/thing.bin", body, etag='"one"')
    fetch_artifact(artifact_for(body, url), dest, session=session)
    assert dest.read_bytes() == body
    assert sorted(ranges(server)) == pieces_of(len(body))
    # The first answer names the bytes, all others are asked for under that name.
    assert [request.headers.get("if-range") for request in server.requests] == [
        None,
        *['"one"'] * (len(server.requests) - 1),
    ]
    assert waits.seconds == []


def test_a_file_of_the_policys_size_is_cut_and_a_smaller_one_is_not(server, session, body, dest):
    url = server.serve("/thing.bin", body)
    for least, cuts in ((len(body), True), (len(body) + 1, False)):
        server.requests.clear()
        session.pieces = replace(ALONE, least=least)
        fetch_artifact(artifact_for(body, url), dest, session=session)
        assert all((asked is not None) == cuts for asked in ranges(server))


def test_a_file_of_unknown_size_is_never_cut(server, several, body, dest):
    url = server.serve("/thing.bin", body)
    artifact = artifact_for(body, url, size=None, max_size=ByteSize(len(body)))
    fetch_artifact(artifact, dest, session=several)
    assert ranges(server) == [None]


def test_the_default_never_cuts_what_comes_in_seconds():
    policy = PiecePolicy()
    assert policy.least >= 2 * policy.piece
    assert policy.piece >= 1 << 23
    assert policy.most <= 16


def test_no_more_connections_than_lanes(server, several, body, dest):
    from vvbuild.fetch.sink import Sink
    from vvbuild.fetch.transfer import Means, fill

    lanes = Lanes(0)
    artifact = artifact_for(body, server.serve("/thing.bin", body))
    fill(Sink(dest.parent.parent / "part", artifact), artifact,
         Means(several, several.cancel, lanes=lanes))  # fmt: skip
    # In order, so by one connection.
    assert ranges(server) == pieces_of(len(body))
    assert lanes.used == 0


def test_a_fast_server_is_not_asked_over_more_connections(server, session, body, dest):
    clock = iter(float(tick) for tick in range(1_000_000))
    session.patience.clock = lambda: next(clock)
    session.pieces = replace(SEVERAL, enough=1.0)
    fetch_artifact(artifact_for(body, server.serve("/thing.bin", body)), dest, session=session)
    assert ranges(server) == pieces_of(len(body))


def test_pieces_go_where_a_redirect_points(server, other_server, several, body, dest):
    target = other_server.serve("/real.bin", body)
    url = server.serve("/thing.bin", b"", always=Redirect(target))
    fetch_artifact(artifact_for(body, url), dest, session=several)
    assert dest.read_bytes() == body
    assert sorted(ranges(other_server, "/real.bin")) == pieces_of(len(body))


# Servers that do not serve pieces


@pytest.mark.parametrize(
    "facts",
    [{"ranges": False}, {"etag": None}, {"etag": 'W/"weak"'},
     {"etag": None, "last_modified": "Wed, 21 Oct 2015 07:28:00 GMT"}],
    ids=["no ranges", "no validator", "a weak one", "a date"],
)  # fmt: skip
def test_without_ranges_or_a_strong_validator_one_stream_serves(
    server, several, waits, body, dest, facts
):
    url = server.serve("/thing.bin", body, **facts)
    fetch_artifact(artifact_for(body, url), dest, session=several)
    assert dest.read_bytes() == body
    assert ranges(server) == [(0, PIECE), None]
    assert waits.seconds == []


ODD = [
    Status(416),
    WrongRange(-1),
    WrongRange(1),
    BadContentRange(None),
    BadContentRange(f"bytes 50000-{2 * PIECE - 2}/300004"),
    BadContentRange("bytes 50000-300003/300004"),
]


@pytest.mark.parametrize("fault", ODD, ids=repr)
def test_a_piece_that_is_not_what_was_asked_for_starts_over_as_a_whole(
    server, alone, waits, body, dest, fault
):
    url = server.serve("/thing.bin", body, Fault(), fault)
    fetch_artifact(artifact_for(body, url), dest, session=alone)
    assert dest.read_bytes() == body
    assert ranges(server) == [(0, PIECE), (PIECE, 2 * PIECE), None]
    assert waits.seconds == []


# Servers that have other bytes now


@pytest.mark.parametrize("fault", [IgnoreRange(), OtherTag('"two"')], ids=["200", "another tag"])
def test_other_bytes_on_the_server_start_the_pieces_over(server, alone, events, body, dest, fault):
    url = server.serve("/thing.bin", body, Fault(), fault)
    fetch_artifact(artifact_for(body, url), dest, session=alone, emit=events)
    assert dest.read_bytes() == body
    assert ranges(server) == [(0, PIECE), (PIECE, 2 * PIECE), *pieces_of(len(body))]
    assert "if-range" not in server.requests[2].headers
    assert [event.text for event in events.seen if isinstance(event, Note)] == [
        "thing.bin: changed on the server meanwhile; starting over"
    ]


def test_a_server_that_always_changes_gets_one_stream(server, alone, body, dest):
    url = server.serve("/thing.bin", body, Fault(), IgnoreRange(), Fault(), IgnoreRange())
    fetch_artifact(artifact_for(body, url), dest, session=alone)
    assert dest.read_bytes() == body
    assert ranges(server)[-1] is None


def test_a_file_that_is_replaced_between_pieces_is_fetched_anew(server, alone, body, dest):
    """The new file differs in every byte, so a single old piece would show."""
    old = bytes(byte ^ 255 for byte in body)
    url = server.serve("/thing.bin", old, Fault(), Status(503), etag='"old"')

    def change(seconds, cancel):
        server.serve("/thing.bin", body, etag='"new"')

    alone.patience.pause = change
    fetch_artifact(artifact_for(body, url), dest, session=alone)
    assert dest.read_bytes() == body


def test_pieces_of_wrong_bytes_are_proved_wrong_by_a_whole(
    server, several, body, dest, nothing_left
):
    url = server.serve("/thing.bin", b"?" * len(body))
    with pytest.raises(DigestMismatchError):
        fetch_artifact(artifact_for(body, url), dest, session=several)
    assert ranges(server)[-1] is None
    assert ranges(server).count(None) == 1
    assert nothing_left()


def test_a_total_that_contradicts_the_lock_ends_it(server, several, body, dest, nothing_left):
    url = server.serve("/thing.bin", body + b"!")
    with pytest.raises(IntegrityError, match=str(len(body) + 1)):
        fetch_artifact(artifact_for(body, url), dest, session=several)
    assert len(server.requests) == 1
    assert nothing_left()


# Lost connections


@pytest.mark.parametrize("fault", [Cut(20_000), Reset(20_000)], ids=["closed", "reset"])
def test_a_lost_connection_goes_on_in_the_middle_of_its_piece(
    server, alone, waits, body, dest, fault
):
    url = server.serve("/thing.bin", body, Fault(), fault, etag='"one"')
    fetch_artifact(artifact_for(body, url), dest, session=alone)
    assert dest.read_bytes() == body
    asked = ranges(server)
    assert asked[:2] == [(0, PIECE), (PIECE, 2 * PIECE)]
    first, end = asked[2]
    # A reset may take along what was on its way.
    assert PIECE <= first <= PIECE + 20_000
    assert end == first + PIECE
    assert waits.seconds == [1.0]
    assert server.requests[2].headers["if-range"] == '"one"'


def test_a_stalled_piece_counts_as_lost(server, body, dest):
    url = server.serve("/thing.bin", body, Fault(), Stall(1000), Stall(None))
    quick, patience = Timeouts(idle=0.2), Patience(pause=lambda seconds, cancel: None)
    with Session(allow_local=True, timeouts=quick, patience=patience, pieces=SEVERAL) as session:
        fetch_artifact(artifact_for(body, url), dest, session=session)
    assert dest.read_bytes() == body


TROUBLES = (
    AttemptError("answered 503", retry=True, wait=9.0),
    AttemptError("answered 403"),
    AttemptError("sent too much", error=SizeMismatchError),
    WholeOnlyError(),
    ChangedError(),
)


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda error: type(error).__name__)
def test_what_only_helpers_meet_costs_no_wait_and_no_byte_twice(
    server, several, waits, body, dest, trouble
):
    """A server may serve one connection well and refuse more: the leader does all, in time."""
    original, met = several.open, []

    def opened(*words, **options):
        if threading.current_thread().name == "vvbuild-piece":
            met.append(trouble)
            raise trouble
        return original(*words, **options)

    several.open = opened
    fetch_artifact(artifact_for(body, server.serve("/thing.bin", body)), dest, session=several)
    assert dest.read_bytes() == body
    assert sorted(ranges(server)) == pieces_of(len(body))
    assert waits.seconds == []
    # Each that brought nothing is one less, so that a refusing server is not pestered.
    assert 1 <= len(met) <= SEVERAL.most - 1


def test_a_file_that_is_gone_ends_all_pieces(server, several, waits, body, dest, nothing_left):
    url = server.serve("/thing.bin", body, Fault(), always=Status(404))
    with pytest.raises(NotFoundOnServerError):
        fetch_artifact(artifact_for(body, url), dest, session=several)
    assert waits.seconds == []
    assert nothing_left()


def test_a_cancelled_file_ends_though_all_pieces_stall(server, several, body, dest, nothing_left):
    cancel = Cancel()
    url = server.serve("/thing.bin", body, Fault(), always=Stall(1000))
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(CancelledError):
        fetch_artifact(artifact_for(body, url), dest, session=several, cancel=cancel)
    assert nothing_left()


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    script=st.lists(st.one_of(FAULTS, st.builds(OtherTag, st.just('"x"'))), max_size=8),
    most=st.integers(1, 4),
)
def test_after_any_series_of_faults_there_is_the_file_or_nothing(
    server, session, dest, nothing_left, script, most
):
    session.pieces = PiecePolicy(least=100, piece=700, most=most, enough=float("inf"))
    data = bytes(index % 251 for index in range(3000))
    dest.unlink(missing_ok=True)
    artifact = artifact_for(data, server.serve("/thing.bin", data, *script))
    try:
        fetch_artifact(artifact, dest, session=session)
    except (NetworkError, IntegrityError):
        assert nothing_left()
    else:
        assert dest.read_bytes() == data
        assert [path.name for path in dest.parent.iterdir()] == ["thing.bin"]


def test_progress_of_pieces_only_grows_and_ends_at_the_total(server, several, events, body, dest):
    ticks = iter(range(1_000_000))
    several.patience.clock = lambda: float(next(ticks))
    fetch_artifact(
        artifact_for(body, server.serve("/thing.bin", body)), dest, session=several, emit=events
    )
    done = [event.done for event in events.seen if isinstance(event, Progress)]
    assert done == sorted(set(done))
    assert done[-1] == len(body)


_DISK_FULL = """
import resource, sys
from pathlib import Path
from tests.fetch.conftest import artifact_for
from tests.fetch.test_pieces import SEVERAL
from vvbuild.errors import DiskFullError
from vvbuild.fetch.session import Session
from vvbuild.fetch.transfer import fetch_artifact
url, dest = sys.argv[1], Path(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    with Session(allow_local=True, pieces=SEVERAL) as session:
        fetch_artifact(artifact_for(bytes(300_000), url), dest, session=session)
except DiskFullError as error:
    print("disk full:", list(dest.parent.iterdir()), error.hint)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_that_a_helper_meets_is_named_and_left_clean(server, dest):
    url = server.serve("/thing.bin", bytes(300_000))
    done = subprocess.run(
        [sys.executable, "-c", _DISK_FULL, url, str(dest)],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.startswith("disk full: [] Free some space")


def test_each_piece_has_a_connection_of_its_own_where_http2_would_share_one(several):
    """Streams of HTTP/2 share a connection, and with it the speed that it is granted."""
    shared, alone = several._client(alone=False), several._client(alone=True)
    assert shared is not alone
    pools = [client._transport._pool for client in (shared, alone)]
    assert [pool._http2 for pool in pools] == [True, False]


# Arithmetic


INTERVALS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda x: (x[0], x[0] + x[1])),
    max_size=12,
)


@given(INTERVALS)
def test_spans_hold_what_a_set_of_positions_holds(intervals):
    spans, model = Spans(), set[int]()
    for first, end in intervals:
        spans.add(first, end)
        model |= set(range(first, end))
    assert {at for first, end in spans for at in range(first, end)} == model
    assert spans.total == len(model)
    assert spans.end == max(model, default=-1) + 1
    assert spans.front == next(at for at in range(100) if at not in model)
    # Sorted and apart, so that the list stays short.
    flat = [at for span in spans for at in span]
    assert flat == sorted(set(flat))


@given(INTERVALS, st.integers(1, 100), st.integers(1, 30))
def test_the_pieces_of_the_gaps_are_what_is_missing(intervals, size, most):
    spans = Spans((first, min(end, size)) for first, end in intervals if first < size)
    pieces = list(cut(spans.gaps(size), most))
    assert all(0 < end - first <= most for first, end in pieces)
    missing = [at for first, end in pieces for at in range(first, end)]
    there = {at for first, end in spans for at in range(first, end)}
    assert sorted(missing) == sorted(set(range(size)) - there)


def test_lanes_are_given_back():
    lanes = Lanes(2)
    with lanes.own():
        assert [lanes.enter() for _ in range(3)] == [True, True, False]
        assert lanes.used == 3
        lanes.leave()
        assert lanes.enter()
    assert lanes.used == 2


def test_replaced_bytes_of_a_range_are_judged_by_their_status(server, alone, body, dest):
    url = server.serve("/thing.bin", body, Replace(b"<html>", "text/html"))
    fetch_artifact(artifact_for(body, url), dest, session=alone)
    assert dest.read_bytes() == body
