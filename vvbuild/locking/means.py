"""What locking asks with, and GitHub's releases, each asked for once."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from vvbuild.errors import CancelledError, VvbuildError
from vvbuild.fetch.attempts import AttemptError, AttemptLog
from vvbuild.fetch.github import PublishedRelease, release_by_tag
from vvbuild.fetch.session import Session
from vvbuild.model.events import Emit
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import remove_tree

T = TypeVar("T")


class Catalogue:
    """The GitHub releases that one command looks at, each asked for once.

    One request at a time, as GitHub wants it: a limit is met, and waited for, by one thread.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._known: dict[tuple[str, str], PublishedRelease | VvbuildError] = {}

    def release(self, project: str, tag: str, means: Means) -> PublishedRelease:
        """The release of a tag; what went wrong the first time goes wrong again."""
        with self._turn:
            found = self._known.get((project, tag))
            if found is None:
                found = self._ask(project, tag, means)
                self._known[project, tag] = found
        if isinstance(found, VvbuildError):
            raise found
        return found

    @staticmethod
    def _ask(project: str, tag: str, means: Means) -> PublishedRelease | VvbuildError:
        try:
            return persist(
                f"the release {tag} of {project}",
                "GitHub",
                lambda: release_by_tag(project, tag, means.session, means.cancel),
                means,
            )
        except CancelledError:
            raise
        except VvbuildError as error:
            return error


@contextmanager
def temporary_room() -> Iterator[Path]:
    """A private directory among the system's temporary ones, gone afterwards."""
    room = Path(tempfile.mkdtemp(prefix="vvbuild-lock-"))
    try:
        yield room
    finally:
        remove_tree(room)


@dataclass(frozen=True, slots=True)
class Means:
    """What locking works with.

    ``scratch`` gives a directory for an archive of gigabytes, and for what it holds.
    """

    session: Session
    emit: Emit
    cancel: Cancel
    catalogue: Catalogue = field(default_factory=Catalogue)
    scratch: Callable[[], AbstractContextManager[Path]] = temporary_room


def persist(subject: str, source: str, work: Callable[[], T], means: Means) -> T:
    """Ask ``source`` until there is an answer; typed errors about ``subject`` in the end."""
    log = AttemptLog(subject)
    try:
        return means.session.patience.persist(
            work, source=source, log=log, cancel=means.cancel, emit=means.emit
        )
    except AttemptError:
        raise log.error() from None
