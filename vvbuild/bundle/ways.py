"""Which way each component comes: by vvbuild itself, or by the core's own downloader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from vvbuild.bundle.steps.components import Downloader
from vvbuild.errors import LockError, MissingError
from vvbuild.fetch.downloader import Consent, wanted_parts
from vvbuild.manifest.downloader import find_contract
from vvbuild.manifest.release import LoadedRelease
from vvbuild.manifest.targets import host_platform
from vvbuild.model.artifact import Artifact
from vvbuild.model.downloader import Contract
from vvbuild.model.lock import Lock
from vvbuild.model.release import ComponentName
from vvbuild.model.target import Target

Fetcher = Literal["auto", "downloader", "direct"]
# Programs and sources that steps take as files: no part of any tree.
_FILES = ("pyinstaller", "downloader")


@dataclass(frozen=True, slots=True)
class Ways:
    """A target's components with their artifacts, and who brings them.

    ``why`` is the reason for those that the downloader could bring and does not.
    """

    components: Mapping[str, tuple[Artifact, ...]]
    downloader: Downloader | None
    brought: frozenset[str]
    why: str

    def downloader_for(self, component: str) -> Downloader | None:
        """The downloader, where it is to bring that component."""
        return self.downloader if component in self.brought else None

    def fetcher(self, component: str) -> Fetcher:
        """Who brings a component."""
        return "downloader" if component in self.brought else "direct"


def choose_ways(
    loaded: LoadedRelease, lock: Lock, target: Target, fetcher: Fetcher, consent: Consent
) -> Ways:
    """Decide for every component of a target.

    Only components whose source is ``core-downloader`` can come by it. ``auto`` takes it for them
    where the release has a downloader for this host, and the lock tells what it must leave; else
    they come directly, and ``why`` tells the reason. Raises :class:`MissingError` and
    :class:`LockError` where ``downloader`` is asked for and cannot be had.
    """
    components: dict[str, tuple[Artifact, ...]] = {}
    for artifact in lock.for_target(target):
        if artifact.component not in _FILES:
            known = components.get(artifact.component, ())
            components[artifact.component] = (*known, artifact)
    able = {
        name
        for name, row in loaded.row.components.items()
        if row.source == "core-downloader" and name in components
    }
    if not able or fetcher == "direct":
        return Ways(components, None, frozenset(), "")
    try:
        downloader = _downloader(loaded, lock, target, components, able, consent)
    except (MissingError, LockError) as error:
        if fetcher == "downloader":
            raise
        return Ways(components, None, frozenset(), error.message)
    bringable = able & set(downloader.contract.generation.parts)
    return Ways(components, downloader, frozenset(bringable), "")


def _downloader(
    loaded: LoadedRelease,
    lock: Lock,
    target: Target,
    components: Mapping[str, tuple[Artifact, ...]],
    able: set[ComponentName],
    consent: Consent,
) -> Downloader:
    rows = loaded.row.components
    pinned = rows.get("downloader") or rows["core"]
    contract = find_contract(pinned.version_for(str(target)))
    artifacts = tuple(
        artifact
        for name in sorted(able & set(contract.generation.parts))
        for artifact in components[name]
    )
    # Raises where the lock does not tell what the program must leave.
    wanted_parts(artifacts)
    models = rows.get("models")
    return Downloader(
        program=_program(lock, contract),
        contract=contract,
        target=target,
        artifacts=artifacts,
        models_pattern=models.pattern if models else None,
        consent=consent,
    )


def _program(lock: Lock, contract: Contract) -> Artifact:
    """The downloader for this host, whatever targets the lock has it for."""
    host = host_platform()
    name = contract.executable(host)
    for artifact in lock.artifacts:
        if artifact.component == "downloader" and artifact.name == name:
            return artifact
    raise MissingError(
        f"The lock has no downloader of the core for {host}.",
        context={"wanted": name or "none is made for this host"},
        hint="`--fetcher direct` needs none.",
    )
