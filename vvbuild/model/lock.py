"""The locked artifacts of a release."""

from __future__ import annotations

from dataclasses import dataclass

from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.target import Target


@dataclass(frozen=True, slots=True)
class Unlocked:
    """An artifact whose digest nobody could know when the lock was written, and why."""

    name: str
    component: str
    version: str
    targets: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Lock:
    """Every artifact of a release, for all its targets at once."""

    release: str
    manifest: Digest
    artifacts: tuple[Artifact, ...]
    unlocked: tuple[Unlocked, ...] = ()

    def gaps(self, target: Target) -> tuple[Unlocked, ...]:
        """What a bundle for ``target`` needs and the lock does not fix."""
        return tuple(item for item in self.unlocked if str(target) in item.targets)

    def for_target(self, target: Target) -> tuple[Artifact, ...]:
        """The artifacts that a bundle for ``target`` needs, in the lock's order."""
        return tuple(artifact for artifact in self.artifacts if str(target) in artifact.targets)

    def component(self, name: str, target: Target) -> tuple[Artifact, ...]:
        """The artifacts of one component for ``target``."""
        return tuple(item for item in self.for_target(target) if item.component == name)
