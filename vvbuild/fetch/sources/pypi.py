"""Files of a PyPI index through the simple API: JSON (PEP 691), or HTML (PEP 503)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import msgspec

from vvbuild.errors import NotFoundOnServerError
from vvbuild.fetch.attempts import AttemptError, AttemptLog
from vvbuild.fetch.session import Page, Session
from vvbuild.fetch.sources.location import Location
from vvbuild.fetch.sources.nearest import nearest
from vvbuild.model.digest import Digest
from vvbuild.model.reference import Reference
from vvbuild.runtime.cancel import Cancel

_ACCEPT = (
    "application/vnd.pypi.simple.v1+json, "
    "application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
)


class _File(msgspec.Struct):
    """A file as an index lists it."""

    filename: str
    url: str
    hashes: dict[str, str] = {}
    size: int | None = None


class _Meta(msgspec.Struct):
    api_version: str = msgspec.field(name="api-version", default="1.0")


class _Project(msgspec.Struct):
    files: list[_File]
    meta: _Meta = msgspec.field(default_factory=_Meta)


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A file of a project, by the name that the index gives it."""

    name: str
    location: Location


def project_files(
    project: str, session: Session, cancel: Cancel | None = None
) -> tuple[IndexFile, ...]:
    """All files of a project on the configured index, yanked ones included.

    A file whose address is none is left out. Raises
    :class:`~vvbuild.errors.NotFoundOnServerError` for a project that the index lacks, or another
    :class:`~vvbuild.errors.NetworkError`.
    """
    cancel = session.cancel if cancel is None else cancel
    log = AttemptLog(f"the files of {project}")
    try:
        page = session.patience.persist(
            lambda: _page(project, session, cancel),
            source=session.indexes.pypi.url,
            log=log,
            cancel=cancel,
        )
        return tuple(_listed(page))
    except AttemptError as error:
        if not log.attempts:
            log.add(session.indexes.pypi.url, error, 0.0)
        raise log.error() from None


def _listed(page: Page) -> Iterator[IndexFile]:
    for file in _files(page):
        try:
            yield IndexFile(file.filename, _location(file, page))
        except AttemptError:  # noqa: PERF203 - each row is judged by itself
            # A broken row among good ones is none of ours.
            continue


def resolve(reference: Reference, session: Session, cancel: Cancel) -> Location:
    """Find the exact file name on the configured index."""
    index = session.indexes.pypi
    page = _page(reference.project, session, cancel)
    files = list(_files(page))
    for file in files:
        if file.filename == reference.file:
            return _location(file, page)
    names = [file.filename for file in files]
    raise AttemptError(
        f"{index.url} has no such file; {_nearest(reference, names)}", error=NotFoundOnServerError
    )


def _page(project: str, session: Session, cancel: Cancel) -> Page:
    index = session.indexes.pypi
    project = re.sub(r"[-_.]+", "-", project).lower()
    try:
        return session.page(f"{index.url}{project}/", _ACCEPT, cancel)
    except AttemptError as error:
        if error.error is NotFoundOnServerError:
            raise AttemptError(
                f"{index.url} has no project {project}", error=NotFoundOnServerError
            ) from None
        raise


def _location(file: _File, page: Page) -> Location:
    try:
        url, fragment = urldefrag(urljoin(page.url, file.url))
    except ValueError:
        raise AttemptError(f"the index says that it is at {file.url!r}, no address") from None
    digest = file.hashes.get("sha256") or fragment.removeprefix("sha256=")
    try:
        hint = Digest(digest.lower())
    except ValueError:
        hint = None
    return Location(url, hint, file.size)


def _files(page: Page) -> Iterator[_File]:
    kind = page.content_type.partition(";")[0].strip().lower()
    if kind.endswith(("/json", "+json")):
        yield from _json_files(page)
    elif kind in ("text/html", "application/vnd.pypi.simple.v1+html"):
        yield from _html_files(page)
    else:
        raise AttemptError(f"the index answered with {kind or 'an untyped document'}")


def _json_files(page: Page) -> list[_File]:
    try:
        project = msgspec.json.decode(page.body, type=_Project)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AttemptError(f"the index sent JSON of another shape: {error}") from None
    if project.meta.api_version.partition(".")[0] != "1":
        raise AttemptError(f"the index speaks version {project.meta.api_version} of the API")
    return project.files


class _Links(HTMLParser):
    """Collects the anchors of a page, and its base."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.base: str | None = None
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if href and tag == "base" and self.base is None:
            self.base = href
        elif href and tag == "a":
            self.links.append(href)


def _html_files(page: Page) -> Iterator[_File]:
    links = _Links()
    links.feed(page.body.decode("utf-8", "replace"))
    base = urljoin(page.url, links.base) if links.base else page.url
    for href in links.links:
        try:
            url = urljoin(base, href)
            name = unquote(urlsplit(url).path.rpartition("/")[2])
        except ValueError:
            # A broken link among good ones is none of ours.
            continue
        if name:
            yield _File(filename=name, url=url)


def _nearest(reference: Reference, names: list[str]) -> str:
    version = re.escape(reference.version)
    ours = [name for name in names if re.search(rf"-{version}(?=-|\.tar\.|\.zip$)", name)]
    if ours:
        return f"of version {reference.version} it has {nearest(reference.file, ours)}"
    if names:
        return f"nothing of version {reference.version}; the nearest are " + nearest(
            reference.file, names
        )
    return "it lists no files of that project"
