"""GitHub's releases, asked of a GitHub on loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fetch.conftest import Events, Waits, artifact_for, indexes_of
from tests.server.faults import Endless, Redirect, Replace, Status
from tests.server.github import LoopbackGitHub, limit_reached, too_fast
from tests.server.http import LoopbackServer
from vvbuild.errors import (
    NetworkError,
    NotFoundOnServerError,
    OfflineError,
    RateLimitedError,
    SizeMismatchError,
    UsageError,
    VvbuildError,
)
from vvbuild.fetch.attempts import AttemptError, AttemptLog, Patience, RetryPolicy
from vvbuild.fetch.github import Asset, PublishedRelease, release_by_tag, releases
from vvbuild.fetch.indexes import Index, Indexes
from vvbuild.fetch.session import Session
from vvbuild.fetch.transfer import fetch_artifact
from vvbuild.model.digest import Digest
from vvbuild.model.size import ByteSize
from vvbuild.runtime.cancel import Cancel

PROJECT = "VOICEVOX/voicevox_core"
TOKEN = "ghp_a_secret"
Ask = Callable[..., PublishedRelease]


def persist(session: Session, work: Callable[[], object], emit: Callable = lambda _: None):
    """Ask as the use-cases do: with patience, and typed errors in the end."""
    log = AttemptLog("it")
    try:
        return session.patience.persist(work, source="github", log=log, cancel=Cancel(), emit=emit)
    except AttemptError:
        raise log.error() from None


@pytest.fixture
def ask(session: Session) -> Ask:
    def ask(tag: str = "0.16.2", project: str = PROJECT, **options: object) -> PublishedRelease:
        return persist(session, lambda: release_by_tag(project, tag, session, Cancel()), **options)

    return ask


@pytest.fixture
def with_token(server: LoopbackServer, waits: Waits) -> Iterator[Session]:
    indexes = indexes_of(server)
    api = replace(indexes.github_api, token=TOKEN)
    patience = Patience(RetryPolicy(jitter=0.0), pause=waits)
    indexes = replace(indexes, github_api=api)
    with Session(allow_local=True, indexes=indexes, patience=patience) as opened:
        yield opened


def test_a_release_tells_its_assets_with_their_digests(github: LoopbackGitHub, ask: Ask) -> None:
    github.release(PROJECT, "0.16.2", {"a.zip": b"aa", "b.zip": b"bbb"}, prerelease=True)

    found = ask()

    assert found == PublishedRelease("0.16.2", True, "2026-01-02T03:04:05Z", (
        Asset("a.zip", 2, Digest.of_bytes(b"aa"), "2026-01-02T03:04:05Z"),
        Asset("b.zip", 3, Digest.of_bytes(b"bbb"), "2026-01-02T03:04:05Z"),
    ))  # fmt: skip
    assert found.asset("b.zip").size == 3


@pytest.mark.parametrize("digest", [None, "", "sha512:00", "sha256:short", "md5"])
def test_an_asset_without_a_digest_that_we_know_has_none(
    digest: str | None, github: LoopbackGitHub, ask: Ask
) -> None:
    github.release(PROJECT, "0.16.2", {"a.zip": b"aa"}, digests={"a.zip": digest})

    assert ask().asset("a.zip").sha256 is None


def test_a_release_is_asked_for_once_by_all_threads_of_a_session(
    github: LoopbackGitHub, ask: Ask
) -> None:
    github.release(PROJECT, "0.16.2", {"a.zip": b"aa"})
    found: list[PublishedRelease] = []
    threads = [threading.Thread(target=lambda: found.append(ask())) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len(found) == 8
    assert github.asked(PROJECT, "0.16.2") == 1


def test_a_tag_is_asked_for_as_one_part_of_the_address(
    github: LoopbackGitHub, server: LoopbackServer, ask: Ask
) -> None:
    github.release(PROJECT, "a%2Fb%3Fc%23d", {"a.zip": b"aa"})

    with pytest.raises(NetworkError, match="was asked for the release a/b"):
        ask("a/b?c#d")
    assert server.requests[0].path.endswith("/releases/tags/a%2Fb%3Fc%23d")
    assert server.requests[0].query == ""


def test_the_api_is_asked_for_a_fixed_version_of_itself(
    github: LoopbackGitHub, server: LoopbackServer, ask: Ask
) -> None:
    github.release(PROJECT, "0.16.2", {})

    ask()

    headers = server.requests[0].headers
    assert headers["accept"] == "application/vnd.github+json"
    assert headers["x-github-api-version"] == "2022-11-28"
    assert headers["user-agent"].startswith("vvbuild/")


def test_more_assets_than_fit_on_a_page_are_all_told(github: LoopbackGitHub, ask: Ask) -> None:
    names = [f"{number}.vvm" for number in range(250)]
    github.release(PROJECT, "0.16.2", dict.fromkeys(names, b"v"))

    assert [asset.name for asset in ask().assets] == names


# What is not there


def test_a_missing_asset_names_the_nearest(github: LoopbackGitHub, ask: Ask) -> None:
    github.release(PROJECT, "0.16.2", {"core-linux-x64.zip": b"", "model.bin": b""})

    with pytest.raises(AttemptError, match=r"the nearest are core-linux-x64\.zip") as caught:
        ask().asset("core-linux-x86.zip")
    assert caught.value.error is NotFoundOnServerError

    github.release("o/r", "1", {})
    with pytest.raises(AttemptError, match="it has no assets"):
        ask("1", "o/r").asset("a")


@pytest.mark.parametrize("state", ["starter", "open"])
def test_an_upload_that_was_never_completed_is_refused(
    state: str, github: LoopbackGitHub, ask: Ask
) -> None:
    github.release(PROJECT, "0.16.2", {"a.zip": b"aa"}, states={"a.zip": state})

    with pytest.raises(AttemptError, match=r"the upload of a\.zip was never completed"):
        ask().asset("a.zip")


def test_a_missing_release_names_the_nearest_tags(github: LoopbackGitHub, ask: Ask) -> None:
    github.release(PROJECT, "0.16.1", {})
    github.release(PROJECT, "draft", {}, draft=True)

    with pytest.raises(NotFoundOnServerError) as caught:
        ask("0.16.2")

    assert "has no release 0.16.2; the nearest are 0.16.1." in caught.value.message
    assert "deleted" in (caught.value.hint or "")


def test_that_a_release_is_missing_is_told_even_if_the_others_cannot_be_asked_for(
    github: LoopbackGitHub, ask: Ask
) -> None:
    github.release(PROJECT, "0.16.1", {})
    github.play(PROJECT, None, always=Status(500))

    with pytest.raises(NotFoundOnServerError, match=r"has no release 0\.16\.2"):
        ask("0.16.2")


def test_a_missing_repository_may_be_a_private_one(
    github: LoopbackGitHub, ask: Ask, session: Session, with_token: Session
) -> None:
    with pytest.raises(NotFoundOnServerError, match="there is no public repository") as caught:
        ask()
    assert "GITHUB_TOKEN" in (caught.value.hint or "")
    with pytest.raises(NotFoundOnServerError, match="there is no public repository"):
        persist(session, lambda: releases(PROJECT, session, Cancel()))
    with pytest.raises(NotFoundOnServerError, match="or the token may not read it"):
        persist(with_token, lambda: releases(PROJECT, with_token, Cancel()))


# All releases


def test_all_pages_of_releases_are_read_newest_first_without_drafts(
    github: LoopbackGitHub, session: Session
) -> None:
    github.per_page = 2
    for number in range(5):
        github.release(PROJECT, f"0.{number}", {}, draft=number == 2)

    found = releases(PROJECT, session, Cancel())

    assert [each.tag for each in found] == ["0.4", "0.3", "0.1", "0.0"]


def test_a_list_without_end_is_given_up(
    github: LoopbackGitHub, server: LoopbackServer, session: Session
) -> None:
    github.release(PROJECT, "1", {})
    path = f"/api/repos/{PROJECT}/releases"
    for number in range(101):
        server.serve(
            f"{path}?page={number}", b"[]",
            headers={"Link": f'<{server.url(path)}?page={number + 1}>; rel="next"'},
        )  # fmt: skip
    server.resources[path].headers["Link"] = f'<{server.url(path)}?page=0>; rel="next"'

    with pytest.raises(NetworkError, match="more than 100 pages"):
        persist(session, lambda: releases(PROJECT, session, Cancel()))


def test_a_list_that_goes_on_elsewhere_is_not_followed(
    github: LoopbackGitHub,
    server: LoopbackServer,
    other_server: LoopbackServer,
    with_token: Session,
) -> None:
    github.release(PROJECT, "1", {})
    elsewhere = other_server.serve("/api/more", b"[]")
    resource = server.resources[f"/api/repos/{PROJECT}/releases"]
    resource.headers["Link"] = f'<{elsewhere}>; rel="next"'

    with pytest.raises(NetworkError, match="continues its list at another server"):
        persist(with_token, lambda: releases(PROJECT, with_token, Cancel()))
    assert other_server.requests == []


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"id": 1}', b'{"id": 1, "tag_name": "0.16.2", "assets": 1}',
             b'{"id": 1, "tag_name": "0.16.2", "assets": [{"name": "a", "size": "1"}]}', b"\xff"],
)  # fmt: skip
def test_an_answer_of_another_shape_is_a_failure_of_the_server(
    body: bytes, github: LoopbackGitHub, ask: Ask
) -> None:
    github.release(PROJECT, "0.16.2", {})
    github.play(PROJECT, "0.16.2", Replace(body, "application/json"))

    with pytest.raises(NetworkError, match="GitHub's API sent JSON of another shape"):
        ask()


# Limits


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize("skew", [0.0, -3600.0], ids=["right", "wrong"])
def test_a_limit_that_ends_soon_is_waited_out_and_told(
    status: int, skew: float, github: LoopbackGitHub, ask: Ask, waits: Waits, events: Events
) -> None:
    """By the server's clock: it does not matter whether this machine's is right."""
    github.release(PROJECT, "0.16.2", {"a.zip": b"aa"})
    github.play(PROJECT, "0.16.2", limit_reached(30, status=status, skew=skew))

    assert ask(emit=events).asset("a.zip").size == 2

    assert len(waits.seconds) == 1
    assert 30 <= waits.seconds[0] <= 31
    (note,) = events.seen
    assert "its limit of requests is used up until" in note.text
    assert note.level == "warning"


@pytest.mark.parametrize(("asked", "waited"), [(7, 7.0), (None, 60.0)])
def test_a_limit_of_speed_is_kept(
    asked: int | None, waited: float, github: LoopbackGitHub, ask: Ask, waits: Waits
) -> None:
    github.release(PROJECT, "0.16.2", {"a.zip": b"aa"})
    github.play(PROJECT, "0.16.2", too_fast(asked))

    ask()

    assert waits.seconds == [waited]


@pytest.mark.parametrize("answer", [limit_reached(3000), too_fast(3000)])
def test_a_limit_that_ends_late_is_an_error_that_says_when_and_how_to_raise_it(
    answer: Status, github: LoopbackGitHub, ask: Ask, waits: Waits
) -> None:
    github.release(PROJECT, "0.16.2", {})
    github.play(PROJECT, "0.16.2", always=answer)

    with pytest.raises(RateLimitedError) as caught:
        ask()

    assert caught.value.code == "rate-limited"
    assert caught.value.exit_status == 3
    assert waits.seconds == []
    assert github.asked(PROJECT, "0.16.2") == 1
    hint = caught.value.hint or ""
    assert "60 requests an hour, with one in GITHUB_TOKEN 5000" in hint
    assert " UTC." in hint


def test_a_limit_met_with_a_token_does_not_advise_one(
    github: LoopbackGitHub, with_token: Session
) -> None:
    github.release(PROJECT, "1", {})
    github.play(PROJECT, "1", always=limit_reached(3000))

    with pytest.raises(RateLimitedError) as caught:
        persist(with_token, lambda: release_by_tag(PROJECT, "1", with_token, Cancel()))

    assert "The token in GITHUB_TOKEN has used up its share" in (caught.value.hint or "")


@pytest.mark.parametrize("reset", [None, "soon", "9" * 40])
def test_a_limit_that_tells_no_time_is_met_with_a_minute(
    reset: str | None, github: LoopbackGitHub, ask: Ask, waits: Waits
) -> None:
    github.release(PROJECT, "0.16.2", {})
    headers = {"x-ratelimit-remaining": "0"} | ({"x-ratelimit-reset": reset} if reset else {})
    github.play(PROJECT, "0.16.2", Status(403, headers))

    ask()

    assert waits.seconds == [60.0]


def test_a_refusal_that_is_no_limit_is_not_repeated(
    github: LoopbackGitHub, ask: Ask, waits: Waits
) -> None:
    github.release(PROJECT, "0.16.2", {})
    body = b'{"message": "Resource not accessible by integration"}'
    github.play(PROJECT, "0.16.2", always=Status(403, {"x-ratelimit-remaining": "4000"}, body))

    with pytest.raises(NetworkError, match="answered 403") as caught:
        ask()

    assert caught.value.code == "network"
    assert waits.seconds == []


# The token


def test_the_token_goes_to_the_api_and_nowhere_else(
    github: LoopbackGitHub,
    server: LoopbackServer,
    other_server: LoopbackServer,
    with_token: Session,
) -> None:
    github.release(PROJECT, "1", {"a.zip": b"aa"})

    release_by_tag(PROJECT, "1", with_token, Cancel())
    with with_token.open(f"{github.web}{PROJECT}/releases/download/1/a.zip") as response:
        assert response.read() == b"aa"

    api, download = server.requests
    assert api.headers["authorization"] == f"Bearer {TOKEN}"
    assert "authorization" not in download.headers
    (stored,) = other_server.requests
    assert "authorization" not in stored.headers


def test_the_token_follows_no_redirect_to_another_server(
    github: LoopbackGitHub,
    server: LoopbackServer,
    other_server: LoopbackServer,
    with_token: Session,
) -> None:
    """A repository that was renamed is redirected, within the API."""
    github.release("new/name", "1", {"a.zip": b"aa"})
    new = "/api/repos/new/name/releases/tags/1"
    server.serve("/api/repos/old/name/releases/tags/1", b"", always=Redirect(server.url(new), 301))
    body = server.resources[new].body
    foreign = other_server.serve(new, body, content_type="application/json")
    server.serve("/api/repos/moved/away/releases/tags/1", b"", always=Redirect(foreign, 301))

    assert release_by_tag("old/name", "1", with_token, Cancel()).tag == "1"
    assert release_by_tag("moved/away", "1", with_token, Cancel()).tag == "1"

    assert [each.headers["authorization"] for each in server.requests] == [f"Bearer {TOKEN}"] * 3
    assert [each.headers.get("authorization") for each in other_server.requests] == [None]


@pytest.mark.parametrize(
    "answer", [Status(401), Status(403), Status(404), Status(500), limit_reached(5000)],
    ids=["401", "403", "404", "500", "limit"],
)  # fmt: skip
def test_no_error_tells_the_token(
    answer: Status, github: LoopbackGitHub, with_token: Session, events: Events
) -> None:
    github.release(PROJECT, "1", {})
    github.play(PROJECT, "1", always=answer)

    with pytest.raises(VvbuildError) as caught:
        persist(with_token, lambda: release_by_tag(PROJECT, "1", with_token, Cancel()), emit=events)

    error = caught.value
    told = [error.message, error.hint, error.context, events.seen, with_token.indexes]
    assert TOKEN not in repr(told)


def test_a_token_that_is_refused_is_named_by_its_variable(
    github: LoopbackGitHub, with_token: Session
) -> None:
    github.release(PROJECT, "1", {})
    github.play(PROJECT, "1", always=Status(401))

    with pytest.raises(NetworkError, match="401") as caught:
        persist(with_token, lambda: release_by_tag(PROJECT, "1", with_token, Cancel()))

    assert "GITHUB_TOKEN" in (caught.value.hint or "")


def test_offline_nobody_is_asked(server: LoopbackServer) -> None:
    with Session(offline=True, indexes=indexes_of(server)) as offline, pytest.raises(OfflineError):
        release_by_tag(PROJECT, "1", offline, Cancel())
    assert server.requests == []


# Downloads


@pytest.mark.parametrize("more", [0, 1])
def test_an_artifact_of_unknown_size_is_fetched_under_its_max_size(
    more: int, github: LoopbackGitHub, session: Session, body: bytes, dest: Path
) -> None:
    """The lock has a digest that others told, and nobody told the size."""
    github.release(PROJECT, "0.16.2", {"a.zip": body})
    limit = ByteSize(len(body) - more)
    artifact = artifact_for(body, f"github:{PROJECT}@0.16.2/a.zip", size=None, max_size=limit)

    if more:
        with pytest.raises(SizeMismatchError, match=f"allows {int(limit)}"):
            fetch_artifact(artifact, dest, session=session)
        assert not dest.exists()
    else:
        assert fetch_artifact(artifact, dest, session=session).read_bytes() == body
    assert github.server.asked("/api/") == []


def test_an_endless_body_of_unknown_size_is_cut_off_at_its_max_size(
    github: LoopbackGitHub, session: Session, body: bytes, dest: Path
) -> None:
    github.release(PROJECT, "0.16.2", {"a.zip": body})
    (path,) = github.storage.resources
    github.storage.resources[path].always = Endless()
    artifact = artifact_for(
        body, f"github:{PROJECT}@0.16.2/a.zip", size=None, max_size=ByteSize(2 << 20)
    )

    with pytest.raises(SizeMismatchError, match="all that is allowed"):
        fetch_artifact(artifact, dest, session=session)
    assert not dest.exists()


# Which API, and whose token

HOME = {"HOME": "/nowhere", "PIP_CONFIG_FILE": "/dev/null", "UV_NO_CONFIG": "1"}


@pytest.mark.parametrize(
    ("variables", "url", "token"),
    [
        ({}, "https://api.github.com/", None),
        ({"GITHUB_TOKEN": TOKEN}, "https://api.github.com/", TOKEN),
        ({"GH_TOKEN": f" {TOKEN}\n"}, "https://api.github.com/", TOKEN),
        ({"GITHUB_TOKEN": "", "GH_TOKEN": TOKEN}, "https://api.github.com/", TOKEN),
        ({"GITHUB_TOKEN": TOKEN, "GH_TOKEN": "other"}, "https://api.github.com/", TOKEN),
        ({"GITHUB_API_URL": "https://ghe.example/api/v3", "GITHUB_TOKEN": TOKEN},
         "https://ghe.example/api/v3/", TOKEN),
        ({"VVBUILD_GITHUB_API_URL": "https://m.example", "GITHUB_TOKEN": TOKEN},
         "https://m.example/", TOKEN),
        ({"VVBUILD_GITHUB_API_URL": "https://u:p@m.example", "GITHUB_TOKEN": TOKEN},
         "https://m.example/", None),
        ({"VVBUILD_GITHUB_API_URL": "https://api.github.com", "GITHUB_TOKEN": TOKEN,
          "GITHUB_API_URL": "https://ghe.example/api/v3"}, "https://api.github.com/", None),
        ({"VVBUILD_GITHUB_API_URL": "https://ghe.example/x", "GITHUB_TOKEN": TOKEN,
          "GITHUB_API_URL": "https://ghe.example/api/v3"}, "https://ghe.example/x/", TOKEN),
    ],
)  # fmt: skip
def test_the_api_and_its_token_come_from_the_environment(
    variables: dict[str, str], url: str, token: str | None
) -> None:
    api = Indexes.configured({**HOME, **variables}).github_api

    assert (api.url, api.token) == (url, token)
    assert TOKEN not in repr(api)


def test_a_token_that_could_break_a_header_is_refused_unseen() -> None:
    with pytest.raises(UsageError, match="GITHUB_TOKEN holds what cannot be a token") as caught:
        Indexes.configured({**HOME, "GITHUB_TOKEN": "a\r\nX-Evil: secret"})
    assert "secret" not in repr(caught.value)


def test_an_api_at_no_address_names_the_variable() -> None:
    with pytest.raises(UsageError, match="GITHUB_API_URL"):
        Indexes.configured({**HOME, "GITHUB_API_URL": "ftp://x"})
    assert Index.parse("https://x.example", "a").token is None
