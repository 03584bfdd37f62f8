"""GitHub's REST API, as far as releases go: what was published, and what it is made of.

Sources: GitHub's documentation of "REST API endpoints for releases", "Rate limits for the REST
API", "Using pagination in the REST API" and "Best practices for using the REST API".
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

import msgspec

from vvbuild.errors import NotFoundOnServerError, RateLimitedError
from vvbuild.fetch.attempts import AttemptError
from vvbuild.fetch.failures import retry_after
from vvbuild.fetch.session import Session
from vvbuild.fetch.sources.nearest import nearest
from vvbuild.model.digest import Digest
from vvbuild.runtime.cancel import Cancel

if TYPE_CHECKING:
    import httpx

    from vvbuild.fetch.session import Page

_T = TypeVar("_T")
_ACCEPT = "application/vnd.github+json"
_HEADERS = {"X-GitHub-Api-Version": "2022-11-28"}
_PER_PAGE = 100
_MOST_PAGES = 100
# Seconds to wait where a secondary limit says no time ("Rate limits for the REST API").
_SECONDARY_WAIT = 60.0
_LIMIT_OF_GUESTS = (
    "Without a token GitHub answers 60 requests an hour, with one in GITHUB_TOKEN 5000 "
    "(that of GitHub Actions: 1000 for each repository)."
)
_LIMIT_OF_MEMBERS = (
    "The token in GITHUB_TOKEN has used up its share: 5000 requests an hour, that of GitHub "
    "Actions 1000 for each repository."
)


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of a release. ``sha256`` is GitHub's own digest; old uploads have none.

    ``updated_at`` is ISO 8601, as the API says it. One that is not ``uploaded`` was begun and
    never completed: nobody can download it.
    """

    name: str
    size: int
    sha256: Digest | None
    updated_at: str
    uploaded: bool = True


@dataclass(frozen=True, slots=True)
class PublishedRelease:
    """A release with its files. ``published_at`` is ISO 8601, as the API says it.

    ``body`` is its text: Markdown, which may have HTML in it.
    """

    tag: str
    prerelease: bool
    published_at: str | None
    assets: tuple[Asset, ...]
    body: str | None = None

    def asset(self, name: str) -> Asset:
        """The asset of that name; raises ``AttemptError`` that names the nearest."""
        for asset in self.assets:
            if asset.name != name:
                continue
            if not asset.uploaded:
                raise AttemptError(
                    f"the upload of {name} was never completed", error=NotFoundOnServerError
                )
            return asset
        names = [asset.name for asset in self.assets]
        others = f"the nearest are {nearest(name, names)}" if names else "it has no assets"
        raise AttemptError(
            f"the release {self.tag} has no asset {name}; {others}", error=NotFoundOnServerError
        )


def release_by_tag(project: str, tag: str, session: Session, cancel: Cancel) -> PublishedRelease:
    """The published release of a tag; the session remembers it.

    Raises ``AttemptError``: where there is no such release, as one of
    :class:`NotFoundOnServerError` that names the nearest tags.
    """
    url = f"{_repository(project, session)}/releases/tags/{quote(tag, safe='')}"
    try:
        page = _page(url, session, cancel)
    except AttemptError as error:
        if error.error is NotFoundOnServerError:
            raise _no_release(project, tag, session, cancel) from None
        raise
    row = _decode(page, _ReleaseRow)
    if row.tag_name != tag:
        raise AttemptError(f"was asked for the release {tag} and told of {row.tag_name}")
    return _release(row, _all_assets(row, project, session, cancel))


def releases(project: str, session: Session, cancel: Cancel) -> tuple[PublishedRelease, ...]:
    """All published releases, in GitHub's order: newest first. Drafts are left out.

    Raises ``AttemptError``, as :func:`release_by_tag` does.
    """
    first = f"{_repository(project, session)}/releases?per_page={_PER_PAGE}"
    try:
        pages = [_decode(page, list[_ReleaseRow]) for page in _pages(first, session, cancel)]
    except AttemptError as error:
        if error.error is NotFoundOnServerError:
            raise _no_project(project, session) from None
        raise
    return tuple(_release(row, row.assets) for rows in pages for row in rows if not row.draft)


# What the API sends


class _AssetRow(msgspec.Struct):
    name: str
    size: int
    state: str = "uploaded"
    digest: str | None = None
    updated_at: str = ""


class _ReleaseRow(msgspec.Struct):
    id: int
    tag_name: str
    assets: list[_AssetRow]
    prerelease: bool = False
    draft: bool = False
    published_at: str | None = None
    body: str | None = None


def _release(row: _ReleaseRow, assets: list[_AssetRow]) -> PublishedRelease:
    return PublishedRelease(
        tag=row.tag_name,
        prerelease=row.prerelease,
        published_at=row.published_at,
        assets=tuple(
            Asset(
                name=asset.name,
                size=asset.size,
                sha256=_digest(asset.digest),
                updated_at=asset.updated_at,
                uploaded=asset.state == "uploaded",
            )
            for asset in assets
        ),
        body=row.body,
    )


def _digest(text: str | None) -> Digest | None:
    """``sha256:…``; of another algorithm we know nothing."""
    algorithm, _, value = (text or "").partition(":")
    try:
        return Digest(value.lower()) if algorithm.lower() == "sha256" else None
    except ValueError:
        return None


def _all_assets(
    row: _ReleaseRow, project: str, session: Session, cancel: Cancel
) -> list[_AssetRow]:
    """The assets of a release: those that it embeds, or all pages of a very long list.

    GitHub embeds more than a page of them, but promises no number.
    """
    if len(row.assets) < _PER_PAGE:
        return row.assets
    first = f"{_repository(project, session)}/releases/{row.id}/assets?per_page={_PER_PAGE}"
    pages = _pages(first, session, cancel)
    return [asset for page in pages for asset in _decode(page, list[_AssetRow])]


# Asking


def _repository(project: str, session: Session) -> str:
    return f"{session.indexes.github_api.url}repos/{project}"


def _page(url: str, session: Session, cancel: Cancel) -> Page:
    def refuse(response: httpx.Response, body: bytes) -> None:
        _refuse(response, body, session)

    return session.page(url, _ACCEPT, cancel, headers=_HEADERS, refuse=refuse)


def _pages(first: str, session: Session, cancel: Cancel) -> Iterator[Page]:
    """A list's documents, by the ``Link`` header of each."""
    url: str | None = first
    for _ in range(_MOST_PAGES):
        if url is None:
            return
        page = _page(url, session, cancel)
        yield page
        url = page.next
        if url is not None and not url.startswith(session.indexes.github_api.url):
            raise AttemptError(f"continues its list at another server, {url}")
    raise AttemptError(f"sent a list of more than {_MOST_PAGES} pages")


def _decode(page: Page, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(page.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AttemptError(f"GitHub's API sent JSON of another shape: {error}") from None


# What it says instead


def _refuse(response: httpx.Response, body: bytes, session: Session) -> None:
    """Name a used-up limit, which GitHub tells as 403 or 429, and a token that it refuses."""
    status = response.status_code
    if status == 401:
        raise AttemptError(
            "answered 401 Unauthorized",
            hint="Its token is not valid, or no longer: look at GITHUB_TOKEN and GH_TOKEN."
            if session.indexes.github_api.token
            else None,
        )
    if status not in (403, 429):
        return
    wait = _limited_for(response, body)
    if wait is None:
        return
    longest = session.patience.policy.longest_retry_after
    raise AttemptError(
        f"its limit of requests is used up until {_clock_time(wait)}",
        error=RateLimitedError,
        retry=wait <= longest,
        wait=wait,
        hint=_limit_hint(wait, session),
    )


def _limit_hint(wait: float, session: Session) -> str:
    token = session.indexes.github_api.token
    what = _LIMIT_OF_GUESTS if token is None else _LIMIT_OF_MEMBERS
    return f"{what} Run the same command again after {_clock_time(wait)}."


def _limited_for(response: httpx.Response, body: bytes) -> float | None:
    """Seconds until requests are answered again; ``None`` where no limit is the reason."""
    asked = retry_after(response.headers.get("retry-after"))
    if asked is not None:
        return asked
    if response.headers.get("x-ratelimit-remaining", "").strip() == "0":
        return _until_reset(response)
    # Told in words only: "You have exceeded a secondary rate limit."
    return _SECONDARY_WAIT if re.search(rb"(?i)\brate limit", body) else None


def _until_reset(response: httpx.Response) -> float:
    """By the server's own clock, since this machine's may be wrong."""
    reset = response.headers.get("x-ratelimit-reset", "").strip()
    if not (reset.isascii() and reset.isdigit() and len(reset) < 12):
        return _SECONDARY_WAIT
    try:
        now = parsedate_to_datetime(response.headers["date"]).timestamp()
    except (KeyError, ValueError):
        now = time.time()
    # The reset is a whole second that has to be over.
    return max(0.0, int(reset) - now) + 1


def _clock_time(wait: float) -> str:
    """The moment after ``wait`` seconds, in UTC, as people read it."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(time.time() + wait))


def _no_release(project: str, tag: str, session: Session, cancel: Cancel) -> AttemptError:
    """Why a tag was not found. Whatever goes wrong with asking, that it was not found stands."""
    try:
        tags = [release.tag for release in releases(project, session, cancel)]
    except AttemptError as error:
        if error.error is NotFoundOnServerError:
            return error
        tags = []
    others = f"; the nearest are {nearest(tag, tags)}" if tags else ""
    return AttemptError(
        f"{project} has no release {tag}{others}", error=NotFoundOnServerError, hint=_GONE_HINT
    )


_GONE_HINT = (
    "It was never published, or was deleted; a release that is only a draft is not found either."
)


def _no_project(project: str, session: Session) -> AttemptError:
    hint = "A private repository is found with a token in GITHUB_TOKEN that may read it."
    return AttemptError(
        f"there is no repository {project}, or the token may not read it"
        if session.indexes.github_api.token
        else f"there is no public repository {project}",
        error=NotFoundOnServerError,
        hint=hint,
    )
