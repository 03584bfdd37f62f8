"""What versions there are, asked of real servers on loopback."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest

from tests.fetch.conftest import Waits
from tests.server.faults import Status
from tests.server.http import LoopbackServer
from vvbuild.errors import NetworkError, NotFoundOnServerError, OfflineError
from vvbuild.fetch.published import Published, moment, published_versions
from vvbuild.fetch.session import Session
from vvbuild.runtime.cancel import Cancel

JSON = "application/vnd.pypi.simple.v1+json"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def ask(source: str, project: str, session: Session) -> dict[str, Published]:
    found = published_versions(source, project, session, cancel=Cancel())
    assert len({each.version for each in found}) == len(found)
    return {each.version: each for each in found}


def simple(server: LoopbackServer, files: list[dict[str, object]], *script: Status) -> None:
    body = json.dumps({"meta": {"api-version": "1.1"}, "name": "thing", "files": files})
    server.serve("/simple/thing/", body.encode(), *script, content_type=JSON)


def test_an_index_tells_versions_with_their_files_and_times(
    server: LoopbackServer, session: Session
) -> None:
    simple(server, [
        {"filename": "thing-1.0.tar.gz", "upload-time": "2026-01-01T00:00:00.123456Z"},
        {"filename": "Thing-1.0-py3-none-any.whl", "upload-time": "2026-01-02T12:00:00Z"},
        {"filename": "thing-2.0rc1-py3-none-any.whl"},
        {"filename": "thing-1.0.win32.exe"},
        {"filename": "nonsense"},
    ])  # fmt: skip

    found = ask("pypi", "Thing", session)

    assert found == {
        "1.0": Published(
            "1.0", at("2026-01-01"), False,
            {"thing-1.0.tar.gz": at("2026-01-01"),
             "Thing-1.0-py3-none-any.whl": at("2026-01-02T12:00:00")},
        ),
        "2.0rc1": Published("2.0rc1", None, True, {"thing-2.0rc1-py3-none-any.whl": None}),
    }  # fmt: skip


def test_what_is_yanked_is_withdrawn_with_its_reason(
    server: LoopbackServer, session: Session
) -> None:
    simple(server, [
        {"filename": "thing-1.0.tar.gz", "yanked": "eats files"},
        {"filename": "thing-2.0.tar.gz", "yanked": True},
        {"filename": "thing-3.0.tar.gz", "yanked": "wrong build"},
        {"filename": "thing-3.0-py3-none-any.whl", "yanked": False},
    ])  # fmt: skip

    found = ask("pypi", "thing", session)

    assert [found[each].withdrawn for each in ("1.0", "2.0", "3.0")] == [
        "yanked: eats files", "yanked", None,
    ]  # fmt: skip
    assert list(found["3.0"].files) == ["thing-3.0-py3-none-any.whl"]


def test_an_index_of_html_is_understood(server: LoopbackServer, session: Session) -> None:
    page = b"""<!DOCTYPE html><html><body>
    <a href="../../f/thing-1.0.tar.gz#sha256=00">x</a> <a href="http://[bad">broken</a>
    <a href="../../f/thing-2.0-py3-none-any.whl" data-yanked="no &amp; no">x</a>
    <a href="../../f/thing-3.0%2Bcu1-py3-none-any.whl" data-yanked>x</a> <a name="n">x</a>
    </body></html>"""
    server.serve("/simple/thing/", page, content_type="text/html; charset=utf-8")

    found = ask("pypi", "thing", session)

    assert {version: each.withdrawn for version, each in found.items()} == {
        "1.0": None, "2.0": "yanked: no & no", "3.0+cu1": "yanked",
    }  # fmt: skip
    assert found["1.0"].at is None


def test_npm_tells_versions_and_times(server: LoopbackServer, session: Session) -> None:
    document = {
        "versions": {"1.0.0": {}, "1.1.0": {"deprecated": "broken"}, "2.0.0-dev.1": {}},
        "time": {"created": "2020-01-01T00:00:00.000Z", "1.0.0": "2026-01-01T00:00:00.000Z",
                 "1.1.0": {"not": "a time"}},
    }  # fmt: skip
    server.serve("/npm/@a%2Fb", json.dumps(document).encode(), content_type="application/json")

    found = ask("npm", "@a/b", session)

    assert found == {
        "1.0.0": Published("1.0.0", at("2026-01-01")),
        "1.1.0": Published("1.1.0", withdrawn="deprecated: broken"),
        "2.0.0-dev.1": Published("2.0.0-dev.1"),
    }
    assert server.asked("/npm/@a%2Fb")[0].headers["accept"] == "application/json"


@pytest.mark.parametrize(("source", "path"), [("pypi", "/simple/thing/"), ("npm", "/npm/thing")])
@pytest.mark.parametrize("body", [b"[]", b"{", b'{"files": 1, "versions": 1}', b"\xff"])
def test_an_answer_of_another_shape_is_a_failure_of_the_server(
    source: str, path: str, body: bytes, server: LoopbackServer, session: Session
) -> None:
    server.serve(path, body, content_type=JSON)

    with pytest.raises(NetworkError, match="JSON of another shape"):
        ask(source, "thing", session)


def test_an_answer_of_no_known_type_is_refused(server: LoopbackServer, session: Session) -> None:
    server.serve("/simple/thing/", b"hello", content_type="text/plain")

    with pytest.raises(NetworkError, match="the index answered with text/plain"):
        ask("pypi", "thing", session)


@pytest.mark.parametrize("source", ["pypi", "npm"])
def test_a_project_that_is_not_there_is_named(
    source: str, server: LoopbackServer, session: Session
) -> None:
    with pytest.raises(NotFoundOnServerError, match=r"has no project thing"):
        ask(source, "thing", session)


def test_a_busy_index_is_asked_again(
    server: LoopbackServer, session: Session, waits: Waits
) -> None:
    simple(server, [{"filename": "thing-1.0.tar.gz"}], Status(503), Status(429))

    assert list(ask("pypi", "thing", session)) == ["1.0"]
    assert waits.seconds == [1.0, 2.0]


def test_offline_nobody_is_asked(server: LoopbackServer) -> None:
    with Session(offline=True) as session, pytest.raises(OfflineError):
        published_versions("npm", "thing", session, cancel=Cancel())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-02T03:04:05Z", at("2026-01-02T03:04:05")),
        ("2026-01-02T03:04:05.1234567Z", at("2026-01-02T03:04:05")),
        ("2026-01-02 03:04:05", at("2026-01-02T03:04:05")),
        ("2026-01-02T03:04:05+0900", at("2026-01-01T18:04:05")),
        ("2026-05-09T00:04:09.834000+00:00", at("2026-05-09T00:04:09")),
        ("2026-13-02T03:04:05Z", None),
        ("0001-01-01T00:00:00+23:59", None),
        ("yesterday", None),
        (None, None),
        (5, None),
    ],
)
def test_times_are_read_as_indexes_write_them(text: object, expected: datetime | None) -> None:
    assert moment(text) == expected
