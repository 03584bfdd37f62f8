"""What holds for every request: who may be asked, what is sent along, and how it ends."""

from __future__ import annotations

import base64
import socket
import ssl
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import pytest

from tests.fetch.conftest import artifact_for, indexes_of
from tests.server.faults import Drip, Redirect, Replace, Stall, Status
from tests.server.http import LoopbackServer
from vvbuild.errors import BadReferenceError, CancelledError, NetworkError, OfflineError, UsageError
from vvbuild.fetch.attempts import AttemptError, Patience, RetryPolicy
from vvbuild.fetch.indexes import Index, Indexes
from vvbuild.fetch.pace import Pace, Timeouts
from vvbuild.fetch.session import Session
from vvbuild.fetch.transfer import fetch_artifact
from vvbuild.fetch.trust import Trust
from vvbuild.runtime.cancel import Cancel

ONCE = Patience(RetryPolicy(waits=()))


def read(session, url, **options):
    with session.open(url, **options) as response:
        return response.read()


# Where a request may go


def test_nothing_is_imported_or_opened_before_the_first_request():
    code = (
        "import sys; from vvbuild.fetch.session import Session; "
        "from vvbuild.fetch.transfer import fetch_artifact; Session(); "
        "print({'httpx', 'ssl', 'truststore', 'certifi'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.strip() == "set()"


def test_plain_http_is_refused_but_on_this_machine():
    with Session(allow_local=True) as session, pytest.raises(AttemptError, match="plain HTTP") as e:
        read(session, "http://example.invalid/x")
    assert e.value.error is BadReferenceError
    assert not e.value.retry


def test_plain_http_on_this_machine_needs_permission(server):
    url = server.serve("/x", b"x")
    with Session() as session, pytest.raises(AttemptError, match="plain HTTP"):
        read(session, url)
    assert server.requests == []


def test_a_configured_index_on_this_machine_is_permitted(server):
    url = server.serve("/x", b"x")
    with Session(indexes=indexes_of(server)) as session:
        assert read(session, url) == b"x"


@pytest.mark.parametrize("host", ["localhost.evil.test", "127.0.0.1.evil.test", "10.0.0.1"])
def test_what_only_looks_like_this_machine_is_not(host):
    with Session(allow_local=True) as session, pytest.raises(AttemptError, match="plain HTTP"):
        read(session, f"http://{host}/x")


def test_offline_refuses_before_a_socket_opens(server):
    url = server.serve("/x", b"x")
    with Session(allow_local=True, offline=True) as session, pytest.raises(OfflineError) as caught:
        read(session, url.replace("//", "//me:secret@"))
    assert server.requests == []
    assert "secret" not in caught.value.message


# Redirects


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_are_followed(server, other_server, session, code):
    url = server.serve("/a", b"", always=Redirect(other_server.serve("/b", b"there"), code))
    assert read(session, url) == b"there"


def test_a_relative_redirect_is_followed(server, session):
    server.serve("/x/b", b"there")
    url = server.serve("/x/a", b"", always=Redirect("b"))
    assert read(session, url) == b"there"


def test_a_loop_of_redirects_ends(server, session, waits, body, dest):
    url = server.serve("/a", b"", always=Redirect("/a"))
    with pytest.raises(NetworkError, match="more than 10 times"):
        fetch_artifact(artifact_for(body, url), dest, session=session)
    assert len(server.requests) == 11
    assert waits.seconds == []


def test_a_redirect_from_https_to_http_is_refused(tls_server, server, authority, session_trusting):
    target = server.serve("/b", b"there")
    url = tls_server.serve("/a", b"", always=Redirect(target))
    with (
        session_trusting(authority, indexes=indexes_of(server)) as session,
        pytest.raises(AttemptError, match="redirected from https to plain http") as caught,
    ):
        read(session, url)
    assert not caught.value.retry
    assert server.requests == []


def test_a_redirect_from_https_to_this_machine_may_be_permitted(
    tls_server, server, authority, session_trusting
):
    url = tls_server.serve("/a", b"", always=Redirect(server.serve("/b", b"there")))
    with session_trusting(authority, allow_local=True) as session:
        assert read(session, url) == b"there"


@pytest.mark.parametrize(
    "to", ["file:///etc/passwd", "ftp://host/x", "http://host:port/x", "//[bad/x"]
)
def test_a_redirect_to_anything_but_http_is_refused(server, session, to):
    url = server.serve("/a", b"", always=Redirect(to))
    with pytest.raises(AttemptError):
        read(session, url)


def test_a_redirect_without_a_target_is_an_answer(server, session):
    url = server.serve("/a", b"", always=Status(302, body=b"nowhere"))
    assert read(session, url) == b"nowhere"


# Credentials


def credentials_of(request):
    header = request.headers.get("authorization")
    return header and base64.b64decode(header.removeprefix("Basic ")).decode()


@pytest.fixture
def guarded(server, trust):
    url = server.url("/simple/").replace("//", "//me:p%40ss@")
    base = indexes_of(server)
    indexes = Indexes(pypi=Index.parse(url, "a test"), npm=base.npm, github=base.github)
    with Session(allow_local=True, indexes=indexes, patience=ONCE) as session:
        session.trust = trust
        yield session


def test_credentials_go_to_the_server_they_were_configured_for(server, guarded):
    assert read(guarded, server.serve("/x", b"x")) == b"x"
    assert credentials_of(server.requests[0]) == "me:p@ss"


def test_credentials_never_follow_a_redirect_to_another_host(server, other_server, guarded):
    url = server.serve("/a", b"", always=Redirect(other_server.serve("/b", b"there")))
    assert read(guarded, url) == b"there"
    assert credentials_of(server.requests[0]) == "me:p@ss"
    assert "authorization" not in other_server.requests[0].headers


def test_another_port_of_the_same_host_is_another_server(server, guarded):
    with LoopbackServer() as neighbour:
        read(guarded, neighbour.serve("/x", b"x"))
        assert "authorization" not in neighbour.requests[0].headers


def test_credentials_that_a_server_hands_out_are_not_used(server, other_server, session):
    target = other_server.serve("/b", b"there").replace("//", "//evil:twin@")
    url = server.serve("/a", b"", always=Redirect(target))
    assert read(session, url) == b"there"
    assert "authorization" not in other_server.requests[0].headers


def test_credentials_show_in_no_repr_and_no_message(guarded, server, body, dest):
    assert "p@ss" not in repr(guarded.indexes)
    assert "p%40ss" not in repr(guarded.indexes)
    from vvbuild.fetch.sources import locate
    from vvbuild.model.reference import Reference

    with pytest.raises(NetworkError) as caught:
        locate(Reference.parse("pypi:nothing/1.0/nothing.whl"), guarded)
    text = f"{caught.value.message} {caught.value.context} {caught.value.hint}"
    assert "ss@" not in text
    assert "p%40" not in text


def test_two_users_of_one_server_are_told_apart_by_path(server, trust):
    def index(path, user):
        return Index.parse(server.url(path).replace("//", f"//{user}:x@"), "a test")

    indexes = Indexes(
        pypi=index("/simple/", "python"), npm=index("/npm/", "node"), github=index("/", "git")
    )
    with Session(indexes=indexes) as session:
        session.trust = trust
        for path in ("/simple/x", "/npm/x", "/other"):
            read(session, server.serve(path, b"x"))
    assert [credentials_of(request) for request in server.requests] == [
        "python:x", "node:x", "git:x"
    ]  # fmt: skip


# Ends


def cancel_soon(cancel, after=0.15):
    timer = threading.Timer(after, cancel.set)
    timer.start()
    return timer


@pytest.mark.parametrize("at", [None, 1000], ids=["before the headers", "in the body"])
def test_a_cancelled_transfer_ends_though_the_server_stalls(
    server, session, body, dest, nothing_left, at
):
    cancel = Cancel()
    url = server.serve("/thing.bin", body, always=Stall(at))
    cancel_soon(cancel)
    with pytest.raises(CancelledError):
        # The idle limit is a minute, the test's own limit is longer.
        fetch_artifact(artifact_for(body, url), dest, session=session, cancel=cancel)
    assert not server.closing.is_set()
    assert nothing_left()


def test_a_cancelled_transfer_ends_though_nobody_accepts(session, body, dest):
    """A full backlog leaves connections hanging, as a host behind a dropping firewall does."""
    cancel = Cancel()
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/thing.bin"
        cancel_soon(cancel)
        with pytest.raises(CancelledError):
            fetch_artifact(artifact_for(body, url), dest, session=session, cancel=cancel)


def test_a_cancelled_tls_transfer_ends_though_the_server_stalls(
    tls_server, authority, session_trusting, body, dest
):
    cancel = Cancel()
    url = tls_server.serve("/thing.bin", body, always=Stall(1000))
    cancel_soon(cancel)
    with session_trusting(authority) as session, pytest.raises(CancelledError):
        fetch_artifact(artifact_for(body, url), dest, session=session, cancel=cancel)


def test_a_flag_that_is_set_asks_nobody(server, session):
    cancel = Cancel()
    cancel.set()
    with pytest.raises(CancelledError):
        read(session, server.serve("/x", b"x"), cancel=cancel)
    assert server.requests == []


def test_a_stalled_server_counts_as_lost(server, body, dest):
    url = server.serve("/thing.bin", body, Stall(50_000))
    quick = Timeouts(idle=0.2)
    patience = Patience(pause=lambda seconds, cancel: None)
    with Session(allow_local=True, timeouts=quick, patience=patience) as session:
        fetch_artifact(artifact_for(body, url), dest, session=session)
    assert dest.read_bytes() == body
    assert server.requests[1].headers["range"].startswith("bytes=")


def test_a_dripping_server_counts_as_stalled(server, session, waits, body, dest):
    """It sends a byte now and then, so that no limit on silence ever ends it."""
    clock = iter(float(second) for second in range(0, 10_000_000, 5))
    session.patience.clock = lambda: next(clock)
    url = server.serve("/thing.bin", body[:200], always=Drip(1, 0.0005))
    with pytest.raises(NetworkError, match="stalled: ") as caught:
        fetch_artifact(artifact_for(body[:200], url), dest, session=session)
    assert "bytes in 60 s" in caught.value.context["attempt 1"]


def test_a_slow_server_is_no_dripping_one():
    clock = iter(range(0, 10_000, 10))
    pace = Pace(Timeouts(), 10_000, lambda: next(clock))
    for _ in range(100):
        pace.tick(1024 * 10)


def test_a_file_that_never_ends_is_given_up_though_it_grows(
    server, session, waits, body, dest, nothing_left
):
    clock = iter(range(0, 1_000_000_000, 3600))
    session.patience.clock = lambda: next(clock)
    session.timeouts = Timeouts(slowest=0.0)
    url = server.serve("/thing.bin", body, always=Drip(2000))
    with pytest.raises(NetworkError, match="took too long altogether"):
        fetch_artifact(artifact_for(body, url), dest, session=session)
    assert waits.seconds == []
    assert nothing_left()


def test_a_page_that_never_ends_is_given_up(server, session):
    clock = iter(range(0, 1_000_000_000, 100))
    session.patience.clock = lambda: next(clock)
    session.timeouts = Timeouts(slowest=0.0)
    url = server.serve("/page", b"x" * 5000, always=Drip(100, 0.001))
    with pytest.raises(AttemptError, match="took too long altogether"):
        session.page(url, "text/plain")


# Pages


def test_a_page_is_asked_for_once_in_a_session(server, session):
    url = server.serve("/page", b"text", content_type="text/plain; charset=x")
    pages = [session.page(url, "text/plain") for _ in range(3)]
    assert {page.body for page in pages} == {b"text"}
    assert pages[0].content_type == "text/plain; charset=x"
    assert len(server.requests) == 1


def test_a_page_knows_where_it_really_came_from(server, other_server, session):
    target = other_server.serve("/deep/page", b"text")
    page = session.page(server.serve("/page", b"", always=Redirect(target)), "text/plain")
    assert page.url == target


def gzipped(data):
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    return packer.compress(data) + packer.flush()


def coded(body, coding):
    return Replace(body, "text/plain", {"Content-Encoding": coding})


def test_a_packed_page_is_unpacked(server, session):
    url = server.serve("/page", b"", always=coded(gzipped(b"text" * 99_999), "gzip"))
    assert session.page(url, "text/plain").body == b"text" * 99_999
    assert server.requests[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize("packed", [False, True])
def test_a_huge_page_is_refused(server, session, packed, monkeypatch):
    monkeypatch.setattr("vvbuild.fetch.session._PAGE_LIMIT", 1 << 20)
    data = bytes((1 << 20) + 1)
    fault = coded(gzipped(data), "gzip") if packed else Replace(data)
    with pytest.raises(AttemptError, match="more than 1 MiB"):
        session.page(server.serve("/page", b"", always=fault), "text/plain")


@pytest.mark.parametrize(
    ("fault", "words", "retry"),
    [
        (coded(gzipped(b"text")[:-4], "gzip"), "ends early", True),
        (coded(b"no gzip at all", "gzip"), "cannot be decoded", True),
        (coded(b"text", "br"), "'br'", False),
    ],
)
def test_a_page_that_cannot_be_unpacked_is_refused(server, session, fault, words, retry):
    with pytest.raises(AttemptError, match=words) as caught:
        session.page(server.serve("/page", b"", always=fault), "text/plain")
    assert caught.value.retry is retry


# Around the client


def test_unusable_proxy_settings_are_the_users_business(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "gopher://me:secret@proxy:1")
    with Session() as session, pytest.raises(UsageError, match="proxy") as caught:
        read(session, "https://example.invalid/")
    assert "secret" not in caught.value.message


def test_a_proxy_from_the_environment_is_used_but_not_for_this_machine(
    server, other_server, monkeypatch
):
    url = other_server.serve("/x", b"direct")
    monkeypatch.setenv("HTTP_PROXY", server.url())
    monkeypatch.setenv("HTTPS_PROXY", server.url())
    with Session(allow_local=True, patience=ONCE) as session:
        assert read(session, url) == b"direct"
        assert server.requests == []
        with pytest.raises(AttemptError, match="proxy"):
            read(session, "https://example.invalid/")


def test_a_closed_session_can_be_used_again(server, session):
    url = server.serve("/x", b"x")
    assert read(session, url) == b"x"
    session.close()
    assert read(session, url) == b"x"


def test_many_threads_share_one_session(server, session, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    def one(index):
        data = bytes([index]) * 100_000
        url = server.serve(f"/{index}.bin", data)
        path = tmp_path / f"{index}.bin"
        fetch_artifact(artifact_for(data, url, name=path.name), path, session=session)
        return path.read_bytes() == data

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(24)))


@pytest.fixture
def session_trusting():
    """Sessions that trust one authority and nobody else."""

    def make(authority, **options):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        authority.configure_trust(context)
        session = Session(patience=ONCE, **options)
        session.trust = Trust(context, "a test")
        return session

    return make


def test_an_untrusted_certificate_is_refused_once_and_explained(
    tls_server, session, waits, body, dest
):
    url = tls_server.serve("/thing.bin", body)
    with pytest.raises(NetworkError, match="certificate is not trusted") as caught:
        fetch_artifact(artifact_for(body, url), dest, session=session)
    assert waits.seconds == []
    assert session.trust.origin in caught.value.hint


def test_a_trusted_certificate_of_another_host_is_refused(
    tls_server, authority, session_trusting, monkeypatch
):
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *rest, **options: real("127.0.0.1", *rest, **options)
    )
    url = tls_server.serve("/x", b"x").replace("localhost", "another.test")
    with session_trusting(authority) as session, pytest.raises(AttemptError, match="certificate"):
        read(session, url)


def test_a_name_that_does_not_exist_is_told_and_tried_again(monkeypatch):
    def fail(*args, **options):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with Session() as session, pytest.raises(AttemptError, match="looked up: Name or") as caught:
        read(session, "https://example.invalid/")
    assert caught.value.retry


def test_what_a_cancelled_caller_left_behind_is_closed():
    from vvbuild.fetch.background import interruptible

    cancel, release, discarded = Cancel(), threading.Event(), threading.Event()

    def work():
        release.wait()
        return "late"

    cancel_soon(cancel)
    with pytest.raises(CancelledError):
        interruptible(work, cancel, lambda result: discarded.set())
    release.set()
    assert discarded.wait(10)
    time.sleep(0)
