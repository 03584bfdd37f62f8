"""A GitHub on loopback: releases as its REST API tells them, downloads as its web server does.

What the API says is held against GitHub's own description of it in ``test_github_dialect.py``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from itertools import count
from urllib.parse import parse_qs, urlencode

from tests.server.faults import Fault, Redirect, Status
from tests.server.http import LoopbackServer, Request, Resource, _Handler

_JSON = "application/json; charset=utf-8"
_DOCS = "https://docs.github.com/rest"
_LIMITS = f"{_DOCS}/using-the-rest-api/rate-limits-for-the-rest-api"
_HOUR = 3600
# "Using pagination in the REST API": what a page holds unless more is asked for, and at most.
_USUAL_PAGE, _LONGEST_PAGE = 30, 100

Row = dict[str, object]


@dataclass
class Upload:
    """An asset: what is downloaded, and what the API says of it."""

    id: int
    body: bytes
    digest: str | None
    size: int
    state: str = "uploaded"
    updated_at: str = "2026-01-02T03:04:05Z"
    content_type: str = "application/octet-stream"


@dataclass
class Published:
    """A release of a repository. GitHub keeps the moment of a draft's publishing empty."""

    id: int
    tag: str
    assets: dict[str, Upload]
    prerelease: bool = False
    draft: bool = False
    published_at: str | None = "2026-01-02T03:04:05Z"
    body: str | None = None
    name: str | None = None
    created_at: str = "2026-01-02T03:04:05Z"


@dataclass
class LoopbackGitHub:
    """Serves releases below ``/api/`` and their assets below ``/gh/``.

    Downloads are redirected to ``storage``, another origin, as GitHub's are. ``per_page`` is the
    most that a list's document holds. Of ``tokens`` all others are refused (``None``: none is);
    who has one may see drafts. ``limit`` is how many requests each client has an hour.
    """

    server: LoopbackServer
    storage: LoopbackServer
    per_page: int = _LONGEST_PAGE
    tokens: frozenset[str] | None = None
    limit: int = 5000
    _repositories: dict[str, dict[str, Published]] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=lambda: count(1))
    _paths: dict[str, set[str]] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _used: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _reset: int = field(default_factory=lambda: int(time.time()) + _HOUR)

    def __post_init__(self) -> None:
        self.server._httpd.RequestHandlerClass = type("_Api", (_ApiHandler,), {"github": self})

    @property
    def api(self) -> str:
        return self.server.url("/api/")

    @property
    def web(self) -> str:
        return self.server.url("/gh/")

    # What is there

    def release(
        self,
        project: str,
        tag: str,
        files: Mapping[str, bytes],
        *,
        digests: Mapping[str, str | None] | None = None,
        sizes: Mapping[str, int] | None = None,
        states: Mapping[str, str] | None = None,
        updated_at: str = "2026-01-02T03:04:05Z",
        **facts: object,
    ) -> None:
        """Publish a release, or publish it anew under the same tag.

        ``digests``, ``sizes`` and ``states`` replace what the API says of single assets.
        """
        assets = {}
        for name, body in files.items():
            digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
            assets[name] = Upload(
                id=next(self._ids),
                body=body,
                digest=(digests or {}).get(name, digest),
                size=(sizes or {}).get(name, len(body)),
                state=(states or {}).get(name, "uploaded"),
                updated_at=updated_at,
            )
        releases = self._repositories.setdefault(project, {})
        releases[tag] = Published(next(self._ids), tag, assets, **facts)
        self._publish(project)

    def replace(self, project: str, tag: str, name: str, body: bytes) -> None:
        """Upload other bytes under the name of an asset that is there."""
        release = self._repositories[project][tag]
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        release.assets[name] = Upload(next(self._ids), body, digest, len(body))
        self._publish(project)

    def delete(self, project: str, tag: str) -> None:
        """Take a release away with all its assets."""
        del self._repositories[project][tag]
        self._publish(project)

    def play(
        self, project: str, tag: str | None, *script: Fault, always: Fault | None = None
    ) -> None:
        """Let the API play faults before it tells of a release, or of the list (``None``)."""
        path = self._list(project) if tag is None else self._by_tag(project, tag)
        resource = self.server.resources[path]
        resource.script.extend(script)
        if always is not None:
            resource.always = always

    # What was asked

    def asked(self, project: str, tag: str | None) -> int:
        """How often the API was asked for a release, or for the list (``None``)."""
        path = self._list(project) if tag is None else self._by_tag(project, tag)
        return len(self.server.asked(path))

    def downloads(self, name: str) -> int:
        """How often the bytes of an asset were asked for."""
        return len([each for each in self.storage.requests if each.path.endswith(f"/{name}")])

    # How it is served

    @staticmethod
    def _list(project: str) -> str:
        return f"/api/repos/{project}/releases"

    @classmethod
    def _by_tag(cls, project: str, tag: str) -> str:
        return f"{cls._list(project)}/tags/{tag}"

    @staticmethod
    def _download(project: str, tag: str, name: str) -> str:
        return f"/gh/{project}/releases/download/{tag}/{name}"

    def _publish(self, project: str) -> None:
        """Serve what there is now; what a test lets a path play stays."""
        before = self._paths.pop(project, set())
        paths = self._paths[project] = set()
        releases = list(reversed(self._repositories[project].values()))
        rows = [self._row(project, release) for release in releases]
        public = [row for row in rows if not row["draft"]]
        for release, row in zip(releases, rows, strict=True):
            self._serve_release(project, release, row)
        latest = [row for row in public if not row["prerelease"]]
        if latest:
            self._document(project, f"{self._list(project)}/latest", latest[0])
        self._pages(project, "releases", rows)
        tags = [self._tag(project, str(row["tag_name"])) for row in public]
        self._pages(project, "tags", tags)
        for gone in before - paths:
            self.server.resources.pop(gone, None)

    def _serve_release(self, project: str, release: Published, row: Row) -> None:
        releases = self._list(project)
        secret = release.draft
        self._document(project, f"{releases}/{release.id}", row, secret=secret)
        if not release.draft:
            self._document(project, self._by_tag(project, release.tag), row)
            self._ref(project, release.tag)
        assets = [self._asset(project, release, name) for name in release.assets]
        self._pages(project, f"releases/{release.id}/assets", assets, secret=secret)
        for (name, asset), each in zip(release.assets.items(), assets, strict=True):
            kept = self.storage.serve(f"/storage/{asset.id}/{name}", asset.body)
            # As a signed address; nobody may be told what comes after the question mark.
            kept += "?sig=secret"
            path = f"{releases}/assets/{asset.id}"
            self._document(project, path, each, secret=secret, kept=kept)
            if not release.draft:
                path = self._download(project, release.tag, name)
                self._keep(project, path, Resource(b"", always=Redirect(kept)), fresh=True)

    def _ref(self, project: str, tag: str) -> None:
        sha = _sha(project, tag)
        path = f"/api/repos/{project}/git/ref/tags/{tag}"
        commit = self.server.url(f"/api/repos/{project}/git/commits/{sha}")
        self._document(project, path, {
            "ref": f"refs/tags/{tag}",
            "node_id": _node("REF", self._number(project)),
            "url": self.server.url(f"/api/repos/{project}/git/refs/tags/{tag}"),
            "object": {"sha": sha, "type": "commit", "url": commit},
        })  # fmt: skip

    # What the API says of each thing

    def _row(self, project: str, release: Published) -> Row:
        url = f"{self._list(project)}/{release.id}"
        tag, api = release.tag, self.server.url(f"/api/repos/{project}")
        assets = [self._asset(project, release, name) for name in release.assets]
        # A draft has no tag yet, whatever it is to be called.
        page = f"untagged-{_sha(project, tag)[:20]}" if release.draft else tag
        return {
            "url": self.server.url(url),
            "assets_url": self.server.url(f"{url}/assets"),
            "upload_url": self.server.url(f"{url}/assets{{?name,label}}"),
            "html_url": self.server.url(f"/gh/{project}/releases/tag/{page}"),
            "id": release.id,
            "author": self._user(project),
            "node_id": _node("RE", release.id),
            "tag_name": tag,
            "target_commitish": "main",
            "name": tag if release.name is None else release.name,
            "draft": release.draft,
            "immutable": False,
            "prerelease": release.prerelease,
            "created_at": release.created_at,
            "updated_at": release.published_at or release.created_at,
            "published_at": None if release.draft else release.published_at,
            "assets": assets[: self.per_page],
            "tarball_url": None if release.draft else f"{api}/tarball/{tag}",
            "zipball_url": None if release.draft else f"{api}/zipball/{tag}",
            "body": release.body,
        }

    def _asset(self, project: str, release: Published, name: str) -> Row:
        asset = release.assets[name]
        return {
            "url": self.server.url(f"{self._list(project)}/assets/{asset.id}"),
            "id": asset.id,
            "node_id": _node("RA", asset.id),
            "name": name,
            "label": "",
            "uploader": self._user(project),
            "content_type": asset.content_type,
            "state": asset.state,
            "size": asset.size,
            "digest": asset.digest,
            "download_count": 0,
            "created_at": asset.updated_at,
            "updated_at": asset.updated_at,
            "browser_download_url": self.server.url(self._download(project, release.tag, name)),
        }

    def _tag(self, project: str, tag: str) -> Row:
        api, sha = self.server.url(f"/api/repos/{project}"), _sha(project, tag)
        return {
            "name": tag,
            "zipball_url": f"{api}/zipball/refs/tags/{tag}",
            "tarball_url": f"{api}/tarball/refs/tags/{tag}",
            "commit": {"sha": sha, "url": f"{api}/commits/{sha}"},
            "node_id": _node("REF", self._number(project)),
        }

    def _user(self, project: str) -> Row:
        login = project.partition("/")[0]
        api = self.server.url(f"/api/users/{login}")
        lists = {
            "followers": "", "following": "{/other_user}", "gists": "{/gist_id}",
            "starred": "{/owner}{/repo}", "subscriptions": "", "repos": "",
            "events": "{/privacy}", "received_events": "",
        }  # fmt: skip
        return {
            "login": login,
            "id": 1,
            "node_id": _node("U", 1),
            "avatar_url": self.server.url("/gh/avatars/u/1?v=4"),
            "gravatar_id": "",
            "url": api,
            "html_url": self.server.url(f"/gh/{login}"),
            **{f"{name}_url": f"{api}/{name}{more}" for name, more in lists.items()},
            "organizations_url": f"{api}/orgs",
            "type": "User",
            "user_view_type": "public",
            "site_admin": False,
        }

    def _number(self, project: str) -> int:
        return self._numbers.setdefault(project, len(self._numbers) + 1)

    # Where it is

    def _document(
        self, project: str, path: str, row: Row, *, secret: bool = False, kept: str | None = None
    ) -> None:
        self._keep(project, path, _Document(_dump(row), _JSON, secret=secret, kept=kept))

    def _pages(self, project: str, what: str, rows: list[Row], *, secret: bool = False) -> None:
        """A list: under the repository's name, and under its number, as the next pages are."""
        numbered = f"/api/repositories/{self._number(project)}/{what}"
        listing = _Listing(
            b"", _JSON, secret=secret, rows=rows, url=self.server.url(numbered), most=self.per_page
        )
        first = listing.told(Request("", {}, f"per_page={_LONGEST_PAGE}"), member=False)
        listing.body = first.body
        self._keep(project, f"/api/repos/{project}/{what}", listing)
        self._keep(project, numbered, listing)

    def _keep(self, project: str, path: str, resource: Resource, *, fresh: bool = False) -> None:
        before = self.server.resources.get(path)
        if before is not None and not fresh:
            resource.script, resource.always = before.script, before.always
        self.server.resources[path] = resource
        self._paths[project].add(path)

    # How it answers

    def _refuse(self, request: Request, used: int) -> Status | None:
        """Why a request is not answered at all."""
        if not request.headers.get("user-agent"):
            text = b"Request forbidden by administrative rules. Please make sure your request has "
            return Status(403, {"Content-Type": "text/html"}, text + b"a User-Agent header.\r\n")
        token = _token(request)
        if token is not None and self.tokens is not None and token not in self.tokens:
            return _problem(401, "Bad credentials")
        if used > self.limit and request.path != "/api/rate_limit":
            return _problem(403, _LIMIT_REACHED, documentation=_LIMITS)
        return None

    def _count(self, request: Request) -> int:
        """How many requests a client has used, this one among them unless it asks for that."""
        with self._lock:
            who = _token(request) or ""
            more = request.path != "/api/rate_limit"
            self._used[who] = self._used.get(who, 0) + more
            return self._used[who]

    def _rate(self, used: int) -> dict[str, int]:
        used = min(used, self.limit)
        return {
            "limit": self.limit, "used": used, "remaining": self.limit - used, "reset": self._reset
        }  # fmt: skip


@dataclass
class _Document(Resource):
    """A document of the API, ``secret`` to those without a token.

    One of an asset is also the way to its bytes, which are ``kept`` elsewhere.
    """

    secret: bool = False
    kept: str | None = None

    def told(self, request: Request, *, member: bool) -> Resource:
        return self


@dataclass
class _Listing(_Document):
    """A list, of which a document tells a part and where the other parts are."""

    rows: list[Row] = field(default_factory=list)
    url: str = ""
    most: int = _LONGEST_PAGE

    def told(self, request: Request, *, member: bool) -> Resource:
        asked = {name: values[-1] for name, values in parse_qs(request.query).items()}
        size = min(_whole(asked.get("per_page")) or _USUAL_PAGE, _LONGEST_PAGE, self.most)
        number = _whole(asked.get("page")) or 1
        rows = [row for row in self.rows if member or not row.get("draft")]
        last = max(1, -(-len(rows) // size))
        others = {}
        if number > 1:
            others["prev"] = min(number - 1, last)
        if number < last:
            others |= {"next": number + 1, "last": last}
        if number > 1:
            others["first"] = 1
        links = ", ".join(
            f'<{self.url}?{urlencode(asked | {"page": page})}>; rel="{relation}"'
            for relation, page in others.items()
        )
        headers = ({"Link": links} if links else {}) | self.headers
        return replace(self, body=_dump(rows[(number - 1) * size : number * size]), headers=headers)


class _ApiHandler(_Handler):
    """Speaks as the API does below ``/api/``, and as every server elsewhere."""

    github: LoopbackGitHub
    _rate: dict[str, int] | None = None

    def do_GET(self) -> None:  # noqa: N802 - the name that the base class calls
        self._rate = None
        path, _, query = self.path.partition("?")
        if not path.startswith("/api/"):
            super().do_GET()
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(path, headers, query)
        owner, github = self.server.owner, self.github
        owner.requests.append(request)
        used = github._count(request)
        self._rate = github._rate(used)
        refusal = github._refuse(request, used)
        if refusal is not None:
            self._play(Resource(b""), refusal)
        elif path == "/api/rate_limit":
            families = {"core": self._rate, "search": self._rate}
            body = _dump({"resources": families, "rate": self._rate})
            self._play(Resource(body, _JSON), Fault())
        else:
            resource = owner.resources.get(self.path) or owner.resources.get(path)
            self._tell(request, resource)

    def _tell(self, request: Request, resource: Resource | None) -> None:
        member = _token(request) is not None
        if resource is None or (getattr(resource, "secret", False) and not member):
            self._play(Resource(b""), _problem(404, "Not Found"))
            return
        fault = resource.next_fault()
        if isinstance(resource, _Document):
            raw = "application/octet-stream" in request.headers.get("accept", "")
            if raw and resource.kept is not None and type(fault) is Fault:
                fault = Redirect(resource.kept)
            resource = resource.told(request, member=member)
        self._play(resource, fault)

    def _head(self, code: int, headers: dict[str, str]) -> None:
        super()._head(code, headers if self._rate is None else self._polite(headers, self._rate))

    @staticmethod
    def _polite(headers: dict[str, str], rate: dict[str, int]) -> dict[str, str]:
        """With what every answer has, but for what this one says by itself."""
        given = {name.lower() for name in headers}
        usual = {
            "Date": formatdate(usegmt=True),
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-GitHub-Request-Id": "0000:1:2:3:4",
        }
        if not any(name.startswith("x-ratelimit-") for name in given):
            usual |= {f"X-RateLimit-{name.title()}": str(value) for name, value in rate.items()}
            usual["X-RateLimit-Resource"] = "core"
        return headers | {name: text for name, text in usual.items() if name.lower() not in given}


def _token(request: Request) -> str | None:
    return request.headers.get("authorization", "").partition(" ")[2] or None


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _dump(value: object) -> bytes:
    return json.dumps(value).encode()


def _sha(project: str, tag: str) -> str:
    return hashlib.sha1(f"{project}@{tag}".encode()).hexdigest()


def _node(kind: str, number: int) -> str:
    return f"{kind}_{base64.urlsafe_b64encode(number.to_bytes(6, 'big')).decode()}"


def _problem(
    code: int, message: str, headers: Mapping[str, str] | None = None, documentation: str = _DOCS
) -> Status:
    """An error as the API tells it."""
    body = _dump({"message": message, "documentation_url": documentation, "status": str(code)})
    return Status(code, {"Content-Type": _JSON, **(headers or {})}, body)


_LIMIT_REACHED = (
    "API rate limit exceeded for 192.0.2.1. (But here's the good news: Authenticated requests get "
    "a higher rate limit. Check out the documentation for more details.)"
)
_TOO_FAST = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
)


def limit_reached(seconds: float, *, status: int = 403, skew: float = 0.0) -> Status:
    """The answer of GitHub's API to one request too many: again in ``seconds``, by its clock."""
    now = time.time() + skew
    headers = {
        "Date": formatdate(now, usegmt=True),
        "x-ratelimit-limit": "60",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": str(int(now + seconds)),
        "x-ratelimit-used": "60",
        "x-ratelimit-resource": "core",
    }
    return _problem(status, _LIMIT_REACHED, headers, _LIMITS)


def too_fast(retry_after: int | None, *, status: int = 403) -> Status:
    """Its answer to requests that follow each other too fast, a secondary limit."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return _problem(status, _TOO_FAST, headers, f"{_LIMITS}#about-secondary-rate-limits")
