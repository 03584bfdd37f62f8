"""One small world and one downloader in it, for tests of what goes wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tests.server.github import LoopbackGitHub
from tests.standins.world import MODEL_TERMS, ORT_TERMS, World
from vvbuild.fetch.downloader import (
    Consent,
    Delivery,
    DownloadRequest,
    Limits,
    Program,
    Surroundings,
    run_downloader,
)
from vvbuild.model.events import Event
from vvbuild.runtime.cancel import Cancel

ACCEPTED = Consent(texts=(MODEL_TERMS, ORT_TERMS))
QUICK = Limits(seconds=60, waits=(0.01, 0.01), settle=0.05, patience=2)


@dataclass
class Scene:
    """A world of one target; ``run`` lets the downloader work in it."""

    github: LoopbackGitHub
    directory: Path
    core: str = "0.17.0"
    target: str = "linux-x64-cuda"
    cancel: Cancel = field(default_factory=Cancel)
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        place = self.directory / "world"
        place.mkdir()
        self.world = World(self.github, self.core, place).publish((self.target,))
        self.work = self.directory / "work"
        self.work.mkdir()
        self.runs = self.directory / "runs"

    def program(self, before: str = "", after: str = "", core: str | None = None) -> Program:
        """A downloader that counts its runs, with Python around its work."""
        count = f"open({str(self.runs)!r}, 'a').write('x')"
        return self.world.install(before=f"{count}\n{before}", after=after, core=core)

    def run(
        self,
        *only: str,
        program: Program | None = None,
        request: DownloadRequest | None = None,
        consent: Consent = ACCEPTED,
        around: Surroundings | None = None,
        limits: Limits = QUICK,
    ) -> dict[str, Delivery]:
        return run_downloader(
            program or self.program(),
            request or self.world.request(self.target, *only),
            self.work,
            cancel=self.cancel,
            consent=consent,
            around=around,
            limits=limits,
            emit=self.events.append,
        )

    @property
    def count(self) -> int:
        """How often the program was started."""
        return len(self.runs.read_text()) if self.runs.exists() else 0

    @property
    def delivered(self) -> list[str]:
        """What lies where deliveries lie."""
        place = self.work / "delivered"
        return sorted(path.name for path in place.iterdir()) if place.exists() else []
