"""Tarballs of an npm registry."""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from vvbuild.errors import NotFoundOnServerError
from vvbuild.fetch.attempts import AttemptError
from vvbuild.fetch.indexes import PUBLIC_NPM, Index
from vvbuild.fetch.session import Session
from vvbuild.fetch.sources.location import Location
from vvbuild.fetch.sources.nearest import nearest
from vvbuild.fetch.urls import Origin
from vvbuild.model.reference import Reference
from vvbuild.runtime.cancel import Cancel

_T = TypeVar("_T")
_FULL = "application/json"
# The short form of a package's document: versions and their tarballs, without readmes.
_SHORT = "application/vnd.npm.install-v1+json, application/json;q=0.8"


class _Dist(msgspec.Struct):
    tarball: str


class _Version(msgspec.Struct):
    dist: _Dist


class _Package(msgspec.Struct):
    versions: dict[str, _Version]


def resolve(reference: Reference, session: Session, cancel: Cancel) -> Location:
    """Ask the registry for the version's tarball. npm publishes no SHA-256 and no packed size."""
    registry = session.indexes.registry(reference.project)
    package = f"{registry.url}{quote(reference.project, safe='@')}"
    try:
        page = session.page(f"{package}/{quote(reference.version)}", _FULL, cancel)
    except AttemptError as error:
        if error.error is not NotFoundOnServerError:
            raise
        return _from_package(reference, registry, package, session, cancel)
    return Location(_tarball(_decode(page.body, _Version), registry))


def _from_package(
    reference: Reference, registry: Index, package: str, session: Session, cancel: Cancel
) -> Location:
    """Some registries serve only the whole document; it also tells what else there is."""
    try:
        versions = _decode(session.page(package, _SHORT, cancel).body, _Package).versions
    except AttemptError as error:
        if error.error is NotFoundOnServerError:
            raise AttemptError(
                f"{registry.url} has no package {reference.project}", error=NotFoundOnServerError
            ) from None
        raise
    found = versions.get(reference.version)
    if found is not None:
        return Location(_tarball(found, registry))
    raise AttemptError(
        f"{registry.url} has no such version; the nearest are "
        + nearest(reference.version, versions),
        error=NotFoundOnServerError,
    )


def _tarball(version: _Version, registry: Index) -> str:
    """The tarball's address, at the configured registry where it names the public one.

    npm itself does so (its option ``replace-registry-host``): a mirror hands on the public
    registry's documents as they are. Old documents say http.
    """
    url = version.dist.tarball
    try:
        origin = Origin.of(url)
    except ValueError as error:
        raise AttemptError(f"the registry names a tarball that is {error}") from None
    if origin.host == urlsplit(PUBLIC_NPM).hostname:
        parts = urlsplit(url)
        return registry.url.rstrip("/") + parts.path + (f"?{parts.query}" if parts.query else "")
    if (origin.scheme, registry.origin.scheme, origin.host) == (
        "http",
        "https",
        registry.origin.host,
    ):
        return urlsplit(url)._replace(scheme="https", netloc=urlsplit(registry.url).netloc).geturl()
    return url


def _decode(body: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AttemptError(f"the registry sent JSON of another shape: {error}") from None
