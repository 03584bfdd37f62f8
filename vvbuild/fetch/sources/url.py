"""References that need no index: URLs, local files, release assets of GitHub."""

from __future__ import annotations

from urllib.parse import quote

from vvbuild.errors import BadReferenceError
from vvbuild.fetch.attempts import AttemptError
from vvbuild.fetch.session import Session
from vvbuild.fetch.sources.location import Location
from vvbuild.model.reference import Reference
from vvbuild.runtime.cancel import Cancel


def https(reference: Reference, session: Session, cancel: Cancel) -> Location:  # noqa: ARG001
    """The URL itself."""
    assert reference.url is not None
    return Location(reference.url)


def file(reference: Reference, session: Session, cancel: Cancel) -> Location:  # noqa: ARG001
    """The file itself, where local files are allowed."""
    assert reference.url is not None
    if not session.allow_local:
        raise AttemptError("local files are not allowed here", error=BadReferenceError)
    return Location(reference.url)


def github(reference: Reference, session: Session, cancel: Cancel) -> Location:  # noqa: ARG001
    """The public download address of an asset; never the API, which counts requests."""
    asset = quote(f"{reference.version}/{reference.file}")
    base = session.indexes.github.url
    return Location(f"{base}{reference.project}/releases/download/{asset}")
