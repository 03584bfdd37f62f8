"""What is wanted of a downloader, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vvbuild.errors import LockError
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.downloader import Contract, CoreWords
from vvbuild.model.locked import Member
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Target
from vvbuild.model.tree import Tree


@dataclass(frozen=True, slots=True)
class WantedPart:
    """A component: its version, and every file and link that its tree must have.

    ``members`` are those of all its artifacts, by their path in the component's tree.
    ``repository`` is ``owner/name`` where it is not the downloader's own.
    """

    version: str
    members: Mapping[str, Member]
    repository: str | None = None

    @property
    def size(self) -> ByteSize:
        """Bytes of all its files."""
        return ByteSize(sum(member.size for member in self.members.values()))


def wanted_parts(artifacts: Iterable[Artifact]) -> dict[str, WantedPart]:
    """The components of locked artifacts, with the files of all that each is made of.

    An archive's are its ``members``; a file that is not unpacked lies in ``into`` under the name
    that its server gives it. Raises :class:`LockError` where the lock does not tell.
    """
    parts: dict[str, WantedPart] = {}
    for artifact in artifacts:
        reference = artifact.references[0]
        project = reference.project if reference.source == "github" else None
        known = parts.get(artifact.component)
        members = {**(known.members if known else {}), **_members(artifact)}
        parts[artifact.component] = WantedPart(artifact.version, members, project)
    return parts


def _members(artifact: Artifact) -> Mapping[str, Member]:
    if artifact.members:
        return artifact.members
    if artifact.unpack != "no" or artifact.size is None:
        raise LockError(
            f"The lock does not tell what {artifact.name} holds, so nobody could judge what the "
            "core's downloader leaves of it.",
            hint="`vvbuild lock --download` looks into it; `--fetcher direct` needs its digest "
            "alone.",
        )
    file = artifact.references[0].file
    path = f"{artifact.into}/{file}" if artifact.into else file
    return {path: Member(sha256=artifact.sha256.hex, size=int(artifact.size))}


@dataclass(frozen=True, slots=True)
class DownloadRequest:
    """What a bundle for ``target`` needs.

    ``words`` is how the core spells the target. ``parts`` holds every component that the
    downloader shall bring or must be told of; ``only`` those of them that are wanted (all by
    default). ``models_pattern`` is a glob. ``tries`` is how often the program itself shall try,
    where it can be told.
    """

    target: Target
    words: CoreWords
    parts: Mapping[str, WantedPart]
    only: frozenset[str] | None = None
    models_pattern: str | None = None
    tries: int = 5

    @property
    def wanted(self) -> tuple[str, ...]:
        """The components that are wanted, in the order of ``parts``."""
        return tuple(name for name in self.parts if self.only is None or name in self.only)


@dataclass(frozen=True, slots=True)
class Program:
    """A downloader as a file, the contract that it keeps, and the digest that it must have."""

    path: Path
    contract: Contract
    sha256: Digest


@dataclass(frozen=True, slots=True)
class Delivery:
    """A component as the lock describes it: ``directory`` holds just what ``tree`` lists."""

    component: str
    directory: Path
    tree: Tree


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a run may take, and how often it is repeated.

    ``seconds`` is for one run of the program. ``waits`` are the pauses before the second, third …
    run after a failure that may pass. A text is taken for complete when nothing was written for
    ``settle`` seconds, and a program that shows one for a question after ``patience`` seconds.
    """

    seconds: float = 3600.0
    waits: tuple[float, ...] = (2.0, 8.0)
    settle: float = 0.2
    patience: float = 10.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What of this machine a downloader gets to see beside the usual.

    ``token`` is one for GitHub. ``variables`` are laid over everything else.
    """

    token: str | None = field(default=None, repr=False)
    variables: Mapping[str, str] = field(default_factory=dict)
