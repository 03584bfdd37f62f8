"""The GitHub on loopback, held against GitHub's own description of its API.

What others ask it, the core's own downloader among them, they decode more strictly than we do.
"""

from __future__ import annotations

import copy
import json
import re
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from filelock import FileLock

from tests.fetch.conftest import indexes_of
from tests.server.faults import Status
from tests.server.github import LoopbackGitHub, limit_reached, too_fast
from tests.server.http import LoopbackServer
from vvbuild.errors import NetworkError
from vvbuild.fetch.github import releases
from vvbuild.fetch.session import Session
from vvbuild.fetch.transfer import fetch_artifact
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file

httpx = pytest.importorskip("httpx")

# GitHub's description of its REST API, as its own clients are generated from it.
DESCRIPTION = Artifact(
    name="openapi-23.0.2.tgz",
    component="openapi",
    version="23.0.2",
    references=(Reference.parse("npm:@octokit/openapi/23.0.2"),),
    sha256=Digest("71a18407dd5e8464f4e0525daf03deabbe65abd9287d6adc7b5d98f516cd0d0c"),
    size=ByteSize(28860560),
)
MEMBER = "package/generated/api.github.com.json"
PROJECT = "VOICEVOX/voicevox_core"
REPOSITORY = f"repos/{PROJECT}"
TOKEN = "ghp_of_a_writer"
JSON = "application/json; charset=utf-8"
# What many operations answer and few describe.
SHARED = {401: "requires_authentication", 403: "forbidden", 404: "not_found", 429: "forbidden"}
FORMATS = {
    "date-time": lambda text: re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text) is not None,
    "uri": lambda text: urlsplit(text).scheme in ("http", "https") and "{" not in text,
}
Ask = Callable[..., Any]
Validate = Callable[[str, Any], None]


# GitHub's description


@pytest.fixture(scope="session")
def description(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Fetched once on each machine, as long as pytest's cache lives."""
    cache = getattr(request.config, "cache", None)
    folder: Path = tmp_path_factory.mktemp("openapi") if cache is None else cache.mkdir("openapi")
    file = folder / DESCRIPTION.name
    with FileLock(f"{file}.lock"):
        if not file.exists() or hash_file(file) != DESCRIPTION.sha256:
            try:
                with Session() as session:
                    fetch_artifact(DESCRIPTION, file, session=session)
            except NetworkError as error:
                pytest.skip(f"npm does not answer: {error.message}")
    with tarfile.open(file, "r|gz") as members:
        for member in members:
            if member.name == MEMBER:
                return json.load(members.extractfile(member))
    raise AssertionError(f"no {MEMBER}")


@pytest.fixture(scope="session")
def validate(description: dict[str, Any]) -> Validate:
    """Hold an answer against what its operation is described to answer with that status."""
    jsonschema = pytest.importorskip("jsonschema")
    formats = jsonschema.FormatChecker(formats=())
    for name, holds in FORMATS.items():
        formats.checks(name)(lambda value, holds=holds: value is None or holds(value))

    def validate(operation: str, answer: Any) -> None:
        told = described(description, operation, answer.status_code)
        for name, header in told.get("headers", {}).items():
            if header["$ref"].rpartition("/")[2].startswith("x-rate-limit"):
                assert answer.headers[name].isdigit()
        if "content" not in told:
            assert answer.content == b""
            return
        assert answer.headers["content-type"] == JSON
        schema = told["content"]["application/json"]["schema"]
        whole = {**modern(schema), "components": {"schemas": needed(description, schema)}}
        checker = jsonschema.Draft202012Validator(whole, format_checker=formats)
        checker.validate(answer.json())

    return validate


def described(description: dict[str, Any], operation: str, status: int) -> dict[str, Any]:
    responses = description["components"]["responses"]
    told = description["paths"][operation]["get"]["responses"].get(str(status), {})
    if "$ref" in told:
        return responses[told["$ref"].rpartition("/")[2]]
    return told if "content" in told else responses[SHARED[status]]


def modern(schema: Any) -> Any:
    """A schema of OpenAPI 3.0 as JSON Schema, which allows nothing that is not described."""
    if isinstance(schema, list):
        return [modern(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        key: {name: modern(each) for name, each in value.items()} if key == "properties"
        else modern(value)
        for key, value in schema.items() if key not in ("example", "examples", "nullable")
    }  # fmt: skip
    if "properties" in found:
        found.setdefault("additionalProperties", False)
    if schema.get("nullable") is True:
        return {"anyOf": [found, {"type": "null"}]}
    return found


def needed(description: dict[str, Any], schema: Any) -> dict[str, Any]:
    """The named schemas that a schema is made of."""
    found: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        for name in re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(waiting.pop())):
            if name not in found:
                found[name] = modern(description["components"]["schemas"][name])
                waiting.append(found[name])
    return found


# Asking


@pytest.fixture
def ask(github: LoopbackGitHub) -> Iterator[Ask]:
    with httpx.Client(trust_env=False, timeout=60) as client:

        def ask(path: str, token: str | None = None, **headers: str) -> Any:
            url = path if path.startswith("http") else f"{github.api}{path}"
            if token is not None:
                headers["Authorization"] = f"Bearer {token}"
            return client.get(url, headers=headers)

        yield ask


@pytest.fixture
def published(github: LoopbackGitHub) -> LoopbackGitHub:
    """Everything that a release can be and have."""
    files = {"core.zip": b"PK", "model.vvm": b"vvm"}
    github.release(PROJECT, "0.15.0", files, digests={"core.zip": None}, body="# Notes\n利用規約")
    github.release(PROJECT, "0.16.0", files, states={"core.zip": "open"}, name="")
    github.release(PROJECT, "0.17.0-rc.1", {}, prerelease=True)
    github.release(PROJECT, "0.18.0", files, draft=True)
    return github


def number_of(ask: Ask, tag: str) -> int:
    (row,) = [row for row in ask(f"{REPOSITORY}/releases", TOKEN).json() if row["tag_name"] == tag]
    return row["id"]


OPERATION = "/repos/{owner}/{repo}"
RELEASES = f"{OPERATION}/releases"
BY_TAG = f"{RELEASES}/tags/{{tag}}"
BY_ID = f"{RELEASES}/{{release_id}}"
ASSETS = f"{BY_ID}/assets"


@pytest.mark.network
@pytest.mark.parametrize(
    ("operation", "path", "status"),
    [
        (RELEASES, "releases", 200),
        (RELEASES, "releases?per_page=2&page=2", 200),
        (RELEASES, "releases?page=9", 200),
        (f"{RELEASES}/latest", "releases/latest", 200),
        (BY_TAG, "releases/tags/0.15.0", 200),
        (BY_TAG, "releases/tags/0.16.0", 200),
        (BY_TAG, "releases/tags/0.17.0-rc.1", 200),
        (BY_TAG, "releases/tags/0.18.0", 404),
        (BY_TAG, "releases/tags/0.19.0", 404),
        (f"{OPERATION}/tags", "tags", 200),
        (f"{OPERATION}/git/ref/{{ref}}", "git/ref/tags/0.15.0", 200),
        (f"{OPERATION}/git/ref/{{ref}}", "git/ref/tags/0.18.0", 404),
    ],
)
def test_every_answer_is_as_github_describes_it(
    operation: str, path: str, status: int, published: LoopbackGitHub, ask: Ask, validate: Validate
) -> None:
    for token in (None, TOKEN):
        answer = ask(f"{REPOSITORY}/{path}", token)
        assert answer.status_code == status
        validate(operation, answer)


@pytest.mark.network
@pytest.mark.parametrize("tag", ["0.15.0", "0.16.0", "0.18.0"])
def test_what_a_release_points_at_is_as_github_describes_it(
    tag: str, published: LoopbackGitHub, ask: Ask, validate: Validate
) -> None:
    release = ask(f"{REPOSITORY}/releases/{number_of(ask, tag)}", TOKEN)
    validate(BY_ID, release)
    row = release.json()
    assert ask(row["url"], TOKEN).json() == row

    assets = ask(row["assets_url"], TOKEN)
    validate(ASSETS, assets)
    assert assets.json() == row["assets"]
    for each in assets.json():
        document = ask(each["url"], TOKEN)
        validate(f"{RELEASES}/assets/{{asset_id}}", document)
        assert document.json() == each
        way = ask(each["url"], TOKEN, Accept="application/octet-stream")
        assert way.status_code == 302
        validate(f"{RELEASES}/assets/{{asset_id}}", way)


@pytest.mark.network
def test_limits_and_refusals_are_as_github_describes_them(
    published: LoopbackGitHub, ask: Ask, validate: Validate
) -> None:
    validate("/rate_limit", ask("rate_limit"))
    scripts = [limit_reached(60), limit_reached(60, status=429), too_fast(7), too_fast(None)]
    published.play(PROJECT, "0.15.0", *scripts)
    for script in scripts:
        answer = ask(f"{REPOSITORY}/releases/tags/0.15.0")
        assert answer.status_code == script.code
        validate(BY_TAG, answer)
    published.limit = 3
    refused = ask(f"{REPOSITORY}/releases/tags/0.15.0")
    assert refused.status_code == 403
    validate(BY_TAG, refused)
    published.tokens = frozenset()
    denied = ask(f"{REPOSITORY}/releases/tags/0.15.0", TOKEN)
    assert denied.status_code == 401
    validate(BY_TAG, denied)


@pytest.mark.network
def test_the_description_is_held_strictly(
    published: LoopbackGitHub, ask: Ask, validate: Validate
) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    answer = ask(f"{REPOSITORY}/releases/tags/0.15.0")
    row = answer.json()

    def refuses(change: Callable[[Any], object]) -> bool:
        changed = copy.deepcopy(row)
        change(changed)
        body = json.dumps(changed).encode()
        try:
            validate(BY_TAG, httpx.Response(200, headers={"Content-Type": JSON}, content=body))
        except jsonschema.ValidationError:
            return True
        return False

    assert not refuses(lambda _: None)
    assert refuses(lambda it: it.pop("tag_name"))
    assert refuses(lambda it: it["author"].pop("node_id"))
    assert refuses(lambda it: it["assets"][0].pop("uploader"))
    assert refuses(lambda it: it["assets"][0].update(size="2"))
    assert refuses(lambda it: it.update(id=None))
    assert refuses(lambda it: it.update(url="repos/o/r"))
    assert refuses(lambda it: it.update(published_at="yesterday"))
    assert refuses(lambda it: it.update(tag="0.15.0"))
    assert not refuses(lambda it: it.update(published_at=None, body=None, name=None))


# What a description does not tell


def test_the_latest_release_is_the_newest_that_is_no_draft_and_no_prerelease(
    github: LoopbackGitHub, ask: Ask
) -> None:
    latest = f"{REPOSITORY}/releases/latest"
    github.release(PROJECT, "rc", {}, prerelease=True)
    assert ask(latest).status_code == 404
    github.release(PROJECT, "1", {})
    github.release(PROJECT, "2", {})
    github.release(PROJECT, "3", {}, draft=True)
    assert ask(latest, TOKEN).json()["tag_name"] == "2"

    github.delete(PROJECT, "2")

    assert ask(latest).json()["tag_name"] == "1"


def test_a_draft_is_seen_in_lists_only_and_by_members_only(
    published: LoopbackGitHub, ask: Ask
) -> None:
    tags = {
        token: [row["tag_name"] for row in ask(f"{REPOSITORY}/releases", token).json()]
        for token in (None, TOKEN)
    }
    assert tags[None] == ["0.17.0-rc.1", "0.16.0", "0.15.0"]
    assert tags[TOKEN] == ["0.18.0", *tags[None]]
    assert "0.18.0" not in [row["name"] for row in ask(f"{REPOSITORY}/tags", TOKEN).json()]
    draft = ask(f"{REPOSITORY}/releases", TOKEN).json()[0]
    assert draft["published_at"] is None
    assert "/releases/tag/untagged-" in draft["html_url"]
    for secret in (draft["url"], draft["assets_url"], draft["assets"][0]["url"]):
        assert ask(secret, TOKEN).status_code == 200
        assert ask(secret).status_code == 404
    assert ask(draft["assets"][0]["browser_download_url"], TOKEN).status_code == 404


def test_our_own_list_leaves_out_the_drafts_that_a_member_is_told(
    published: LoopbackGitHub, server: LoopbackServer
) -> None:
    indexes = indexes_of(server)
    indexes = replace(indexes, github_api=replace(indexes.github_api, token=TOKEN))
    with Session(allow_local=True, indexes=indexes) as session:
        found = releases(PROJECT, session, Cancel())

    assert [each.tag for each in found] == ["0.17.0-rc.1", "0.16.0", "0.15.0"]


def test_a_release_that_becomes_a_draft_is_no_longer_found(
    github: LoopbackGitHub, ask: Ask
) -> None:
    github.release(PROJECT, "1", {"a.zip": b"aa"})
    row = ask(f"{REPOSITORY}/releases/tags/1").json()
    download = row["assets"][0]["browser_download_url"]
    assert ask(download).status_code == 302

    github.release(PROJECT, "1", {"a.zip": b"aa"}, draft=True)

    for gone in (f"{REPOSITORY}/releases/tags/1", row["url"], download):
        assert ask(gone).status_code == 404


@pytest.mark.parametrize("raw", [True, False], ids=["api", "browser"])
def test_bytes_are_elsewhere_and_asked_for_in_two_ways(
    raw: bool, published: LoopbackGitHub, ask: Ask
) -> None:
    release = ask(f"{REPOSITORY}/releases/tags/0.15.0").json()
    asset = release["assets"][1]
    if raw:
        way = ask(asset["url"], Accept="application/octet-stream")
    else:
        way = ask(asset["browser_download_url"])

    assert way.status_code == 302
    assert way.headers["location"].startswith(published.storage.url())
    assert ask(way.headers["location"]).content == b"vvm"


@pytest.mark.parametrize(
    ("rows", "per_page", "sizes"),
    [
        (0, None, [0]), (1, 1, [1]), (31, None, [30, 1]), (60, 30, [30, 30]), (5, 2, [2, 2, 1]),
        (101, 100, [100, 1]), (101, 500, [100, 1]), (31, 0, [30, 1]), (3, 2, [2, 1]),
    ],
)  # fmt: skip
def test_the_pages_of_a_list_name_each_other(
    rows: int, per_page: int | None, sizes: list[int], github: LoopbackGitHub, ask: Ask
) -> None:
    for number in range(rows or 1):
        github.release(PROJECT, str(number), {}, draft=not rows)
    path = f"{REPOSITORY}/tags" + ("" if per_page is None else f"?per_page={per_page}")

    answer = first = ask(path)
    pages = [answer]
    while "next" in answer.links:
        answer = ask(answer.links["next"]["url"])
        pages.append(answer)

    assert [len(page.json()) for page in pages] == sizes
    names = [row["name"] for page in pages for row in page.json()]
    assert names == [str(number) for number in reversed(range(rows))]
    last = len(pages)
    for number, page in enumerate(pages, 1):
        expected = {}
        if number > 1:
            expected |= {"prev": number - 1, "first": 1}
        if number < last:
            expected |= {"next": number + 1, "last": last}
        assert {name: page_of(link["url"]) for name, link in page.links.items()} == expected
    if last > 1:
        assert ask(pages[1].links["first"]["url"]).json() == first.json()


def page_of(url: str) -> int:
    # By the number of the repository: a client that makes up addresses of its own is found out.
    assert "/repositories/1/" in url
    return int(httpx.URL(url).params["page"])


def test_a_fault_is_played_on_every_page_of_a_list(github: LoopbackGitHub, ask: Ask) -> None:
    for number in range(3):
        github.release(PROJECT, str(number), {})
    following = ask(f"{REPOSITORY}/releases?per_page=2").links["next"]["url"]
    github.play(PROJECT, None, Status(500))

    assert [ask(following).status_code for _ in range(2)] == [500, 200]


def test_every_answer_counts_and_says_what_is_left(github: LoopbackGitHub, ask: Ask) -> None:
    github.release(PROJECT, "1", {})
    github.play(PROJECT, "1", Status(500))
    github.limit = 4
    asked = [f"{REPOSITORY}/releases/tags/1"] * 2 + ["nothing", f"{REPOSITORY}/tags", "more"]

    answers = [ask(path) for path in asked]

    assert [answer.status_code for answer in answers] == [500, 200, 404, 200, 403]
    assert [int(answer.headers["x-ratelimit-remaining"]) for answer in answers] == [3, 2, 1, 0, 0]
    assert [int(answer.headers["x-ratelimit-used"]) for answer in answers] == [1, 2, 3, 4, 4]
    for answer in answers:
        assert answer.headers["x-ratelimit-limit"] == "4"
        assert answer.headers["x-ratelimit-resource"] == "core"
        assert answer.headers["x-ratelimit-reset"].isdigit()
        assert answer.headers["x-github-media-type"] == "github.v3; format=json"
    assert "rate limit exceeded" in answers[-1].json()["message"]
    # Asking for the limit costs nothing, and others have one of their own.
    assert ask("rate_limit").json()["rate"]["remaining"] == 0
    assert ask("rate_limit").status_code == 200
    assert ask(f"{REPOSITORY}/tags", TOKEN).headers["x-ratelimit-remaining"] == "3"


def test_requests_of_many_threads_are_all_counted(github: LoopbackGitHub, ask: Ask) -> None:
    threads = [threading.Thread(target=ask, args=("nothing",)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert ask("rate_limit").json()["rate"]["used"] == 12


@pytest.mark.parametrize("path", ["nothing", "repos/o/r", f"{REPOSITORY}/releases/tags/2"])
def test_what_is_missing_is_told_in_json(path: str, published: LoopbackGitHub, ask: Ask) -> None:
    answer = ask(path)

    assert (answer.status_code, answer.headers["content-type"]) == (404, JSON)
    assert answer.json() == {
        "message": "Not Found", "documentation_url": "https://docs.github.com/rest",
        "status": "404",
    }  # fmt: skip


@pytest.mark.parametrize("scheme", ["Bearer", "token"])
def test_a_bad_token_is_refused_whatever_is_asked(
    scheme: str, published: LoopbackGitHub, ask: Ask
) -> None:
    published.tokens = frozenset({TOKEN})
    for path in (f"{REPOSITORY}/releases", "nothing", "rate_limit"):
        answer = ask(path, Authorization=f"{scheme} ghp_expired")
        assert answer.status_code == 401
        assert answer.json()["message"] == "Bad credentials"
    assert ask(f"{REPOSITORY}/releases", Authorization=f"{scheme} {TOKEN}").status_code == 200
    assert ask(f"{REPOSITORY}/releases").status_code == 200


def test_a_client_that_does_not_say_its_name_is_refused(
    published: LoopbackGitHub, ask: Ask
) -> None:
    answer = ask(f"{REPOSITORY}/releases", **{"User-Agent": ""})

    assert answer.status_code == 403
    assert "User-Agent" in answer.text
