"""What is asked for again, how often, and after which waits."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from tests.fetch.conftest import artifact_for
from tests.server.faults import Drop, Status
from vvbuild.errors import CancelledError, NetworkError, NotFoundOnServerError
from vvbuild.fetch.attempts import AttemptError, AttemptLog, Patience, RetryPolicy
from vvbuild.fetch.failures import retry_after
from vvbuild.fetch.transfer import fetch_artifact
from vvbuild.runtime.cancel import Cancel


def fetch(server, session, body, dest, *script, always=None):
    url = server.serve("/thing.bin", body, *script, always=always)
    return fetch_artifact(artifact_for(body, url), dest, session=session)


def test_the_waits_together_outlast_a_minute():
    assert sum(RetryPolicy().waits) >= 60
    assert all(RetryPolicy().pause(own, None) >= own for own in RetryPolicy().waits)


def test_jitter_lengthens_a_wait_by_a_quarter_at_most():
    waits = {RetryPolicy().pause(8.0, None) for _ in range(100)}
    assert len(waits) > 1
    assert all(8.0 <= seconds <= 10.0 for seconds in waits)


@pytest.mark.parametrize("code", [404, 410])
def test_what_is_not_there_is_asked_for_once(server, session, waits, body, dest, code):
    with pytest.raises(NotFoundOnServerError, match=str(code)):
        fetch(server, session, body, dest, always=Status(code))
    assert len(server.requests) == 1
    assert waits.seconds == []


@pytest.mark.parametrize("code", [400, 401, 403, 405, 407, 451, 204, 300, 304])
def test_what_is_refused_is_asked_for_once(server, session, waits, body, dest, code):
    with pytest.raises(NetworkError, match=str(code)) as caught:
        fetch(server, session, body, dest, always=Status(code, body=b""))
    assert not isinstance(caught.value, NotFoundOnServerError)
    assert len(server.requests) == 1
    assert waits.seconds == []


@pytest.mark.parametrize("code", [408, 425, 429, 500, 502, 503, 504, 599])
def test_what_may_pass_is_asked_for_again(server, session, waits, body, dest, code):
    fetch(server, session, body, dest, Status(code), Status(code))
    assert dest.read_bytes() == body
    assert waits.seconds == [1, 2]


@pytest.mark.parametrize("fault", [Status(500), Status(429), Drop()])
def test_waits_double_until_the_row_is_over(server, session, waits, body, dest, fault):
    with pytest.raises(NetworkError):
        fetch(server, session, body, dest, always=fault)
    assert waits.seconds == [1, 2, 4, 8, 16, 32]
    assert len(server.requests) == 7


@pytest.mark.parametrize("code", [429, 503])
def test_retry_after_is_honoured(server, session, waits, body, dest, code):
    fetch(server, session, body, dest, Status(code, {"Retry-After": "17"}))
    assert waits.seconds == [17]


@pytest.mark.parametrize("code", [429, 503])
def test_retry_after_is_capped(server, session, waits, body, dest, code):
    fetch(server, session, body, dest, Status(code, {"Retry-After": "86400"}))
    assert waits.seconds == [RetryPolicy().longest_retry_after]


def test_retry_after_zero_does_not_hammer(server, session, waits, body, dest):
    always = Status(503, {"Retry-After": "0"})
    with pytest.raises(NetworkError):
        fetch(server, session, body, dest, always=always)
    assert waits.seconds == [1, 2, 4, 8, 16, 32]


def test_retry_after_may_be_a_date():
    seconds = retry_after(formatdate(time.time() + 100, usegmt=True))
    assert seconds == pytest.approx(100, abs=2)
    assert retry_after(formatdate(time.time() - 100, usegmt=True)) == 0


@pytest.mark.parametrize("value", [None, "", "soon", "-1", "²", "Wed, 99 Foo 2015 07:28:00 GMT"])
def test_a_senseless_retry_after_is_ignored(value):
    assert retry_after(value) is None


def test_an_unreachable_server_is_tried_as_long_as_a_broken_one(session, waits, body, dest):
    import socket

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    artifact = artifact_for(body, f"http://127.0.0.1:{port}/thing.bin")
    with pytest.raises(NetworkError, match="no connection"):
        fetch_artifact(artifact, dest, session=session)
    assert waits.seconds == [1, 2, 4, 8, 16, 32]


def test_a_cancelled_wait_ends_it(server, session, body, dest, nothing_left):
    cancel = Cancel()
    session.patience.pause = lambda seconds, flag: (cancel.set(), flag.check())
    url = server.serve("/thing.bin", body, always=Status(503))
    with pytest.raises(CancelledError):
        fetch_artifact(artifact_for(body, url), dest, session=session, cancel=cancel)
    assert len(server.requests) == 1
    assert nothing_left()


def test_every_failure_is_logged_with_its_time():
    ticks = iter([0.0, 2.5, 10.0, 11.0])
    log, outcomes = AttemptLog("x"), iter([AttemptError("broke", retry=True), None])

    def work():
        outcome = next(outcomes)
        if outcome is not None:
            raise outcome
        return "done"

    patience = Patience(pause=lambda seconds, cancel: None, clock=lambda: next(ticks))
    assert patience.persist(work, source="s", log=log, cancel=Cancel()) == "done"
    assert [(a.source, a.what, a.seconds) for a in log.attempts] == [("s", "broke", 2.5)]


def test_secrets_in_a_failure_are_hidden():
    failure = AttemptError("could not ask https://me:pw@host/x?sig=abc at all")
    assert failure.what == "could not ask https://host/x?… at all"
