"""From a reference to an address: one module a source, one function each."""

from __future__ import annotations

from vvbuild.fetch.attempts import AttemptError, AttemptLog
from vvbuild.fetch.session import Session
from vvbuild.fetch.sources import npm, pypi, url
from vvbuild.fetch.sources.location import Location
from vvbuild.model.events import Emit, silent
from vvbuild.model.reference import Reference
from vvbuild.runtime.cancel import Cancel

_RESOLVERS = {
    "pypi": pypi.resolve,
    "npm": npm.resolve,
    "github": url.github,
    "https": url.https,
    "file": url.file,
}

__all__ = ["Location", "locate", "resolve"]


def locate(reference: Reference, session: Session) -> Location:
    """Where a reference's file is served now, with what its index says of it.

    Asks an index for PyPI and npm, and nobody for the others. Raises
    :class:`~vvbuild.errors.NotFoundOnServerError` naming the nearest files of that version,
    or another :class:`~vvbuild.errors.NetworkError`.
    """
    log = AttemptLog(str(reference))
    try:
        return resolve(reference, session, log=log, cancel=session.cancel)
    except AttemptError:
        raise log.error() from None


def resolve(
    reference: Reference, session: Session, *, log: AttemptLog, cancel: Cancel, emit: Emit = silent
) -> Location:
    """Like :func:`locate` as a part of a longer story: failures are added to its ``log``."""
    resolver = _RESOLVERS[reference.source]
    return session.patience.persist(
        lambda: resolver(reference, session, cancel),
        source=str(reference),
        log=log,
        cancel=cancel,
        emit=emit,
    )
