"""What is locked: the artifacts of a release, or the tools."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vvbuild.errors import LockError
from vvbuild.manifest.lock import find_terms, lock_command, lock_destination, lock_path
from vvbuild.manifest.pins import PinnedArtifact
from vvbuild.manifest.release import LoadedRelease
from vvbuild.manifest.tools import LOCK_NAME, pinned_tools, tools_digest
from vvbuild.model.digest import Digest


@dataclass(frozen=True, slots=True)
class Subject:
    """Pins that have a lock: where it is read, where it is written, and the command for that."""

    name: str
    digest: Digest
    pinned: tuple[PinnedArtifact, ...]
    path: Path
    destination: Path
    command: str

    def has_text(self, sha256: str) -> bool:
        """Whether the text of that digest, which must be accepted, lies where it is looked for."""
        try:
            find_terms(self.path, Digest(sha256))
        except LockError:
            return False
        return True


def release_subject(loaded: LoadedRelease) -> Subject:
    """The artifacts of a release."""
    return Subject(
        name=loaded.name,
        digest=loaded.pins_digest,
        pinned=loaded.artifacts,
        path=lock_path(loaded.name, loaded.path),
        destination=lock_destination(loaded.name, loaded.path),
        command=lock_command(loaded),
    )


def tools_subject() -> Subject:
    """The tools of ``tools.toml``."""
    return Subject(
        name=LOCK_NAME,
        digest=tools_digest(),
        pinned=pinned_tools(),
        path=lock_path(LOCK_NAME),
        destination=lock_destination(LOCK_NAME),
        command="vvbuild lock --tools",
    )
