"""Finding the Python packages that a release's engine needs, as files of the index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vvbuild.bundle.inputs import engine_files
from vvbuild.bundle.requirements import (
    Requirement,
    accepted_pythons,
    marker_environments,
    read_requirements,
)
from vvbuild.bundle.wheels import fitting, shelved
from vvbuild.errors import LockError, OfflineError
from vvbuild.fetch.session import Session
from vvbuild.fetch.sources.pypi import IndexFile, project_files
from vvbuild.fetch.store import Store
from vvbuild.manifest.release import LoadedRelease
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.events import Emit, Progress
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Platform
from vvbuild.runtime.cancel import Cancel

# What an index says of a file's size is believed as a limit, and no wheel of ours is larger.
_MOST_BYTES = ByteSize(2 << 30)


def engine_wheels(
    loaded: LoadedRelease,
    hosts: Iterable[Platform],
    *,
    store: Store,
    session: Session,
    emit: Emit,
    cancel: Cancel,
) -> tuple[Artifact, ...]:
    """The wheels that freezing a release needs on hosts of those kinds, yanked ones included.

    They are those that the engine's requirements name by digest: for every Python that the
    release accepts, and for every release of the host's system. Without a network the store's own
    are taken. Raises :class:`LockError` for a package that has no wheel there.
    """
    requirements = _requirements(loaded)
    if session.offline:
        return tuple(_from_store(requirements, loaded, hosts, store))
    found: dict[Digest, Artifact] = {}
    hosts = tuple(hosts)
    for number, requirement in enumerate(requirements, 1):
        files = project_files(requirement.name, session, cancel)
        emit(Progress("ask for packages", number, len(requirements), "packages"))
        for name in _wanted(requirement, loaded, hosts, _named(files)):
            file = next(each for each in files if each.name == name)
            digest = file.location.sha256_hint
            assert digest is not None
            found[digest] = _artifact(requirement, file, digest)
    return tuple(found.values())


def _requirements(loaded: LoadedRelease) -> tuple[Requirement, ...]:
    if loaded.row.engine.source == "github":
        # Its sources are not fetched yet, by `bundle` neither.
        return ()
    wanted = loaded.row.engine.requirements
    for file in engine_files(loaded):
        if file.path == wanted:
            return read_requirements(file.source.read_text("utf-8"))
    return ()


def _wanted(
    requirement: Requirement,
    loaded: LoadedRelease,
    hosts: Sequence[Platform],
    files: Sequence[tuple[str, Digest]],
) -> Iterator[str]:
    """The names of the files that a host of one of those kinds may need of a package."""
    for series, versions in accepted_pythons(loaded.row.python.requires).items():
        for host in hosts:
            if not requirement.needed(marker_environments(host, versions)):
                continue
            names = fitting(requirement, series, host, files)
            if not names:
                raise LockError(
                    f"{requirement} has no wheel for Python {series} on {host} that the engine's "
                    "requirements admit.",
                    context={"release": loaded.name},
                    hint="Carry it for other hosts with --host, or lock another version.",
                )
            yield from names


def _named(files: Iterable[IndexFile]) -> list[tuple[str, Digest]]:
    hints = ((file.name, file.location.sha256_hint) for file in files)
    return [(name, digest) for name, digest in hints if digest is not None]


def _artifact(requirement: Requirement, file: IndexFile, digest: Digest) -> Artifact:
    size = file.location.size_hint
    return Artifact(
        name=file.name,
        component=requirement.name,
        version=requirement.version,
        references=(Reference("pypi", requirement.name, requirement.version, file.name),),
        sha256=digest,
        size=None,
        max_size=ByteSize(size) if size is not None else _MOST_BYTES,
    )


def _from_store(
    requirements: Iterable[Requirement],
    loaded: LoadedRelease,
    hosts: Iterable[Platform],
    store: Store,
) -> Iterator[Artifact]:
    hosts = tuple(hosts)
    missing = []
    for requirement in requirements:
        entries = [
            entry
            for digest in sorted(requirement.hashes, key=str)
            if (entry := shelved(store, digest)) is not None
        ]
        named = [(entry.path, entry.digest) for entry in entries if entry.digest is not None]
        try:
            names = set(_wanted(requirement, loaded, hosts, named))
        except LockError:
            missing.append(str(requirement))
            continue
        for entry in entries:
            if entry.path in names and entry.digest is not None:
                yield Artifact(
                    entry.path,
                    requirement.name,
                    requirement.version,
                    (Reference("pypi", requirement.name, requirement.version, entry.path),),
                    entry.digest,
                    ByteSize(entry.size),
                )
    if missing:
        raise OfflineError(
            f"{len(missing)} of the engine's packages are not in the store, and --offline forbids "
            "to fetch them.",
            context={"missing": ", ".join(missing)},
            hint="Run it once without --offline.",
        )
