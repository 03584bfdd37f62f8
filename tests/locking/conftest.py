"""Small releases that are locked against servers on loopback."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.fetch.conftest import Waits, indexes_of, trust
from tests.manifest.conftest import tiny, write
from tests.server.github import LoopbackGitHub
from tests.server.http import LoopbackServer
from vvbuild.fetch.attempts import Patience, RetryPolicy
from vvbuild.fetch.session import Session
from vvbuild.fetch.trust import Trust
from vvbuild.locking.check import LockCheck, check_locks
from vvbuild.locking.means import Means, temporary_room
from vvbuild.locking.run import LockResult, Wish, lock
from vvbuild.locking.subject import release_subject
from vvbuild.manifest.release import load_release
from vvbuild.model.events import Event
from vvbuild.runtime.cancel import Cancel

__all__ = ["tiny", "trust", "write"]

CORE = "VOICEVOX/voicevox_core"
VVM = "VOICEVOX/voicevox_vvm"
LINUX, WIN = "core-linux-x64-cpu-0.16.2.zip", "core-windows-x64-cpu-0.16.2.zip"
FILES = {LINUX: b"linux core " * 1000, WIN: b"win core " * 1000}
MODELS = {"10.vvm": b"ten", "9.vvm": b"nine", "readme.txt": b"hello"}
COMPONENTS = """\
[components.core]
version = "0.16.2"
source = "github"

[components.models]
version = "0.16.4"
source = "github"
pattern = "*.vvm"
"""
ARTIFACTS = """\
[[artifacts]]
component = "core"
targets = ["*"]
references = ["github:VOICEVOX/voicevox_core@{version}/core-{core_os}-x64-cpu-{version}.zip"]
max_size = "1MiB"

[[artifacts]]
component = "models"
targets = ["*"]
references = ["github:VOICEVOX/voicevox_vvm@{version}/{asset}"]
assets = "{pattern}"
max_size = "1MiB"
"""


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Bench:
    """A manifest, its lock beside it, and what each command does with them."""

    manifest: Path
    server: LoopbackServer
    trust: Trust
    waits: Waits = field(default_factory=Waits)
    events: list[Event] = field(default_factory=list)
    cancel: Cancel = field(default_factory=Cancel)
    scratch: Callable = temporary_room

    @property
    def path(self) -> Path:
        return self.manifest.with_suffix(".lock.json")

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        """The rows of the lock that was written, by name."""
        return {row["name"]: row for row in json.loads(self.path.read_bytes())["artifacts"]}

    def edit(self, name: str, **changes: object) -> None:
        """Change a row of the lock by hand; ``None`` takes a key away."""
        lock = json.loads(self.path.read_bytes())
        (row,) = [row for row in lock["artifacts"] if row["name"] == name]
        row.update(changes)
        for key in [key for key, value in changes.items() if value is None]:
            del row[key]
        self.path.write_text(json.dumps(lock))

    def lock(self, *, offline: bool = False, **wish: object) -> LockResult:
        """Lock as one command does."""
        return self._run(lambda subject, means: lock(subject, means, Wish(**wish)), offline=offline)

    def check(self, *, offline: bool = False, **options: object) -> LockCheck:
        """Check as one command does."""
        (check,) = self._run(
            lambda subject, means: check_locks([subject], means, **options), offline=offline
        )
        return check

    def _run(self, work: Callable, *, offline: bool = False):
        subject = release_subject(load_release(self.manifest, allow_local=True))
        patience = Patience(RetryPolicy(jitter=0.0), pause=self.waits)
        with Session(
            allow_local=True, indexes=indexes_of(self.server), patience=patience,
            cancel=self.cancel, offline=offline,
        ) as session:  # fmt: skip
            session.trust = self.trust
            means = Means(session, self.events.append, self.cancel, scratch=self.scratch)
            return work(subject, means)


@pytest.fixture
def bench(server: LoopbackServer, write: Callable[[str], Path], tiny: str, trust: Trust) -> Bench:
    """A release of two cores and a glob of models, all on GitHub."""
    head, _, _ = tiny.partition("[components.onnxruntime]")
    return Bench(write(head + COMPONENTS + ARTIFACTS), server, trust)


@pytest.fixture
def hub(github: LoopbackGitHub) -> LoopbackGitHub:
    """A GitHub that has what the release pins."""
    github.release(CORE, "0.16.2", FILES)
    github.release(VVM, "0.16.4", MODELS)
    return github
