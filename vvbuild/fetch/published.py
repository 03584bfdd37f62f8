"""Which versions of a project there are, since when, and with which files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from html.parser import HTMLParser
from typing import TypeVar
from urllib.parse import quote, unquote, urlsplit

import msgspec

from vvbuild.errors import NotFoundOnServerError
from vvbuild.fetch.attempts import AttemptError, AttemptLog
from vvbuild.fetch.session import Page, Session
from vvbuild.model.events import Emit, silent
from vvbuild.model.reference import Source
from vvbuild.runtime.cancel import Cancel

_T = TypeVar("_T")
_JSON = "application/json"
_SIMPLE = (
    "application/vnd.pypi.simple.v1+json, "
    "application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?")


@dataclass(frozen=True, slots=True)
class Published:
    """A version as its source spells it: PyPI's and npm's version, GitHub's tag.

    ``files`` maps each file to when it was put there; npm has one file a version and names
    none. ``withdrawn`` is why nobody should use it: yanked on PyPI, deprecated on npm.
    """

    version: str
    at: datetime | None = None
    prerelease: bool = False
    files: dict[str, datetime | None] = field(default_factory=dict)
    withdrawn: str | None = None


def published_versions(
    source: Source, project: str, session: Session, *, cancel: Cancel, emit: Emit = silent
) -> tuple[Published, ...]:
    """Ask the configured index, registry or GitHub for all versions of a project.

    Raises :class:`~vvbuild.errors.NetworkError`, of the kind that tells what was wrong, once
    asking again does not help.
    """
    ask = {"pypi": _pypi, "npm": _npm, "github": _github}[source]
    log = AttemptLog(f"the versions of {source}:{project}")
    try:
        return session.patience.persist(
            lambda: ask(project, session, cancel),
            source=f"{source}:{project}",
            log=log,
            cancel=cancel,
            emit=emit,
        )
    except AttemptError:
        raise log.error() from None


def moment(text: object) -> datetime | None:
    """A time of ISO 8601 as indexes write it; ``None`` for anything else."""
    found = _MOMENT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    zone = (found[2] or "Z").replace("Z", "+00:00")
    zone = zone if ":" in zone else f"{zone[:3]}:{zone[3:]}"
    try:
        return datetime.fromisoformat(found[1] + zone).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


# GitHub


def _github(project: str, session: Session, cancel: Cancel) -> tuple[Published, ...]:
    from vvbuild.fetch.github import releases

    return tuple(
        Published(
            version=each.tag,
            at=moment(each.published_at),
            prerelease=each.prerelease,
            files={asset.name: moment(asset.updated_at) for asset in each.assets},
        )
        for each in releases(project, session, cancel)
    )


# npm


class _NpmVersion(msgspec.Struct):
    deprecated: str | bool = False


class _NpmPackage(msgspec.Struct):
    versions: dict[str, _NpmVersion]
    time: dict[str, object] = {}


def _npm(project: str, session: Session, cancel: Cancel) -> tuple[Published, ...]:
    """The whole document of a package: the short one has no times."""
    registry = session.indexes.registry(project)
    page = _page(
        f"{registry.url}{quote(project, safe='@')}", _JSON, registry.url, project, session, cancel
    )
    package = _decode(page.body, _NpmPackage)
    return tuple(
        Published(
            version=version,
            at=moment(package.time.get(version)),
            withdrawn=_reason("deprecated", row.deprecated),
        )
        for version, row in package.versions.items()
    )


# PyPI


class _PypiFile(msgspec.Struct):
    filename: str
    yanked: str | bool = False
    upload_time: object = msgspec.field(name="upload-time", default=None)


class _PypiProject(msgspec.Struct):
    files: list[_PypiFile]


def _pypi(project: str, session: Session, cancel: Cancel) -> tuple[Published, ...]:
    """The simple API as JSON (PEP 691, with PEP 700's times) or as HTML (PEP 503), which has none.

    A version without a file is nothing that could be pinned, so the files alone count.
    """
    name, index = re.sub(r"[-_.]+", "-", project).lower(), session.indexes.pypi
    page = _page(f"{index.url}{name}/", _SIMPLE, index.url, name, session, cancel)
    kind = page.content_type.partition(";")[0].strip().lower()
    if kind.endswith(("/json", "+json")):
        files = _decode(page.body, _PypiProject).files
    elif kind in ("text/html", "application/vnd.pypi.simple.v1+html"):
        files = list(_html_files(page))
    else:
        raise AttemptError(f"the index answered with {kind or 'an untyped document'}")
    versions: dict[str, list[_PypiFile]] = {}
    for file in files:
        if version := _version_of(file.filename):
            versions.setdefault(version, []).append(file)
    return tuple(_pypi_version(version, files) for version, files in versions.items())


def _pypi_version(version: str, files: list[_PypiFile]) -> Published:
    from packaging.version import Version

    times = {file.filename: moment(file.upload_time) for file in files if not file.yanked}
    known = [time for time in times.values() if time is not None]
    return Published(
        version=version,
        at=min(known, default=None),
        prerelease=Version(version).is_prerelease,
        files=times,
        withdrawn=None if times else _reason("yanked", files[0].yanked),
    )


def _version_of(filename: str) -> str | None:
    from packaging.utils import (
        InvalidSdistFilename,
        InvalidWheelFilename,
        parse_sdist_filename,
        parse_wheel_filename,
    )

    try:
        if filename.endswith(".whl"):
            return str(parse_wheel_filename(filename)[1])
        return str(parse_sdist_filename(filename)[1])
    except (InvalidWheelFilename, InvalidSdistFilename):
        # Eggs and installers of long ago.
        return None


class _Links(HTMLParser):
    """The files of a page, and which of them are yanked (PEP 592)."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.files: list[_PypiFile] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        href = facts.get("href")
        if tag != "a" or not href:
            return
        try:
            name = unquote(urlsplit(href).path.rpartition("/")[2])
        except ValueError:
            # A broken link among good ones is none of ours.
            return
        yanked = "data-yanked" in facts and (facts["data-yanked"] or True)
        self.files.append(_PypiFile(filename=name, yanked=yanked))


def _html_files(page: Page) -> Iterator[_PypiFile]:
    links = _Links()
    links.feed(page.body.decode("utf-8", "replace"))
    yield from links.files


# All


def _page(
    url: str, accept: str, index: str, project: str, session: Session, cancel: Cancel
) -> Page:
    try:
        return session.page(url, accept, cancel)
    except AttemptError as error:
        if error.error is not NotFoundOnServerError:
            raise
        raise AttemptError(
            f"{index} has no project {project}", error=NotFoundOnServerError
        ) from None


def _decode(body: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AttemptError(f"the index sent JSON of another shape: {error}") from None


def _reason(what: str, said: str | bool) -> str | None:
    if not said:
        return None
    return f"{what}: {said}" if isinstance(said, str) else what
