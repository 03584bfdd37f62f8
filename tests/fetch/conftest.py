"""What the tests of fetching share: a session whose waits are recorded instead of waited."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.server.http import LoopbackServer
from vvbuild.fetch.attempts import Patience, RetryPolicy
from vvbuild.fetch.indexes import Index, Indexes
from vvbuild.fetch.session import Session
from vvbuild.fetch.trust import Trust, choose_trust
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.events import Event
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize
from vvbuild.runtime.cancel import Cancel


@dataclass
class Waits:
    """A pause that takes no time, and what it was asked for."""

    seconds: list[float] = field(default_factory=list)

    def __call__(self, seconds: float, cancel: Cancel) -> None:
        self.seconds.append(seconds)
        cancel.check()


@dataclass
class Events:
    """Everything that was emitted."""

    seen: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.seen.append(event)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def events() -> Events:
    return Events()


def indexes_of(server: LoopbackServer) -> Indexes:
    """All indexes on one loopback server."""
    return Indexes(
        pypi=Index.parse(server.url("/simple/"), "a test"),
        npm=Index.parse(server.url("/npm/"), "a test"),
        github=Index.parse(server.url("/gh/"), "a test"),
        github_api=Index.parse(server.url("/api/"), "a test"),
    )


@pytest.fixture(scope="session")
def trust() -> Trust:
    """Reading the system's authorities takes a tenth of a second: once is enough."""
    return choose_trust()


@pytest.fixture
def session(server: LoopbackServer, waits: Waits, trust: Trust) -> Iterator[Session]:
    """A session that may ask loopback, with its indexes there, and without jitter."""
    patience = Patience(RetryPolicy(jitter=0.0), pause=waits)
    with Session(allow_local=True, indexes=indexes_of(server), patience=patience) as opened:
        opened.trust = trust
        yield opened


@pytest.fixture
def body() -> bytes:
    """Some bytes that look like no text."""
    return b"\x7fELF" + random.Random(1).randbytes(300_000)


def artifact_for(data: bytes, *references: str, **changes: object) -> Artifact:
    """An artifact with the digest and size of ``data``, served at ``references``."""
    facts: dict[str, object] = {
        "name": "thing.bin",
        "component": "core",
        "version": "1.0",
        "references": tuple(Reference.parse(text, allow_local=True) for text in references),
        "sha256": Digest.of_bytes(data),
        "size": ByteSize(len(data)),
    }
    return Artifact(**{**facts, **changes})


@pytest.fixture
def dest(tmp_path: Path) -> Path:
    """Where the file goes: alone in its directory, so that leftovers show."""
    return tmp_path / "out" / "thing.bin"


@pytest.fixture
def nothing_left(dest: Path) -> Callable[[], bool]:
    """Whether neither the file nor any part of it is there."""
    return lambda: not dest.parent.exists() or list(dest.parent.iterdir()) == []
