"""``fetch``: the artifacts of a release for a target, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from vvbuild.bundle.steps import components as component_steps
from vvbuild.bundle.terms import Acceptance, Terms
from vvbuild.bundle.ways import Fetcher, Ways, choose_ways
from vvbuild.errors import HostToolMissingError, OutputNotOursError, UnknownNameError
from vvbuild.fetch.session import Session
from vvbuild.fetch.store import Store
from vvbuild.locking.means import Means
from vvbuild.locking.trust import Trusted, trust_unlocked
from vvbuild.manifest.choose import Chosen
from vvbuild.manifest.decode import no_such
from vvbuild.manifest.lock import load_release_lock, read_terms, require_locked
from vvbuild.manifest.targets import host_platform
from vvbuild.manifest.tools import find_tool
from vvbuild.model.artifact import Artifact
from vvbuild.model.events import Emit
from vvbuild.model.lock import Lock
from vvbuild.model.target import Target
from vvbuild.model.tree import Tree
from vvbuild.pipeline import artifacts as artifact_steps
from vvbuild.pipeline.runner import Runner
from vvbuild.pipeline.step import PlanBuilder
from vvbuild.runtime.cancel import Cancel


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """What the user chose. ``only`` names components, by default all are fetched."""

    release: Chosen
    target: str
    fetcher: Fetcher = "auto"
    only: tuple[str, ...] = ()
    offline: bool = False
    jobs: int = 2
    allow_unlocked: bool = False
    accepts: Acceptance = field(default_factory=Acceptance)


@dataclass(frozen=True, slots=True)
class FetchedComponent:
    """A component as one tree: its digest is the same whoever brought it."""

    name: str
    version: str
    fetcher: Fetcher
    tree: Tree
    cached: bool


@dataclass(frozen=True, slots=True)
class FetchResult:
    """What is in the store now, for one target of a release."""

    release: Chosen
    target: Target
    components: tuple[FetchedComponent, ...]
    artifacts: tuple[Artifact, ...]
    terms: tuple[Terms, ...]
    why: str
    out: Path | None = None


def fetch_target(
    options: FetchOptions, *, store: Store, emit: Emit, cancel: Cancel, out: Path | None = None
) -> FetchResult:
    """Bring what a bundle for the target is made from into the store, verified.

    Without ``only`` that is also PyInstaller's source and the tools for this machine. ``out`` is
    a new or empty directory that gets a folder with each component's tree. Raises typed errors;
    what was finished stays in the store.
    """
    loaded = options.release.release
    target = loaded.target(options.target)
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutputNotOursError(f"{out} is not an empty directory.", hint="Choose another --out.")
    store.prepare()
    with Session(offline=options.offline, cancel=cancel) as session:
        trusted = _lock(options, target, Means(session, emit, cancel))
        lock = trusted.lock
        wanted = _wanted(lock, target, options.only)
        terms, consent = options.accepts.require(
            wanted, lambda it: read_terms(loaded, it, trusted.texts)
        )
        ways = choose_ways(loaded, lock, target, options.fetcher, consent)
        names = [name for name in ways.components if not options.only or name in options.only]
        plan = _plan(options, ways, names, wanted, session)
        result = Runner(store, emit=emit, cancel=cancel, jobs=options.jobs).run(
            plan.plan(*plan.steps)
        )
    cached = {step.name: step.cached for step in result.steps}
    components = tuple(
        FetchedComponent(
            name,
            loaded.row.components[name].version_for(str(target)),  # type: ignore[index]
            ways.fetcher(name),
            result.made[f"component {name}"].tree,
            cached[f"component {name}"],
        )
        for name in names
    )
    for component in components if out is not None else ():
        assert out is not None
        store.export(component.tree, out / component.name, link=False)
    return FetchResult(options.release, target, components, tuple(wanted), terms, ways.why, out)


def _lock(options: FetchOptions, target: Target, means: Means) -> Trusted:
    loaded = options.release.release
    lock = load_release_lock(loaded)
    if options.allow_unlocked and lock.gaps(target):
        return trust_unlocked(loaded, target, means)
    require_locked(loaded, lock, target)
    return Trusted(lock, {})


def _wanted(lock: Lock, target: Target, only: Sequence[str]) -> list[Artifact]:
    artifacts = lock.for_target(target)
    names = list(dict.fromkeys(artifact.component for artifact in artifacts))
    for name in only:
        if name not in names:
            raise UnknownNameError(
                no_such("component with files", name, names),
                hint="--only takes the name of a component that the lock has files of.",
            )
    return [artifact for artifact in artifacts if not only or artifact.component in only]


def _plan(
    options: FetchOptions,
    ways: Ways,
    names: Sequence[str],
    wanted: Sequence[Artifact],
    session: Session,
) -> PlanBuilder:
    builder = PlanBuilder()
    for name in names:
        files = ways.components[name]
        component_steps.add_component(builder, name, files, session, ways.downloader_for(name))
    for artifact in wanted:
        if artifact.component not in ways.components:
            artifact_steps.add_fetch(builder, artifact, session)
    if not options.only:
        host = host_platform()
        for name, version in options.release.release.row.tools.items():
            # Not every tool is made for every host; a bundle that needs one says so.
            with suppress(HostToolMissingError):
                artifact_steps.add_tool(builder, find_tool(name, version, host), session)
    return builder
