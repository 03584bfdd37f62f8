"""Everything that a bundle is made from, looked up before anything is planned or fetched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from vvbuild import resources
from vvbuild.bundle.terms import Acceptance, Terms
from vvbuild.bundle.ways import Fetcher, Ways, choose_ways
from vvbuild.errors import ManifestError
from vvbuild.fetch.store import Store, walk
from vvbuild.host.freezing import require_freezable
from vvbuild.host.needs import program_digests, require_needs
from vvbuild.host.python import PythonFacts, find_python, python_identity
from vvbuild.locking.trust import Trusted
from vvbuild.manifest.choose import Chosen
from vvbuild.manifest.lock import load_release_lock, lock_path, read_terms, require_locked
from vvbuild.manifest.recipe import load_recipe, placements, recipe_file
from vvbuild.manifest.release import LoadedRelease
from vvbuild.manifest.targets import host_platform
from vvbuild.manifest.tools import LOCK_NAME, Tool, find_tool
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.lock import Lock
from vvbuild.model.recipe import Recipe
from vvbuild.model.release import ArchiveKind
from vvbuild.model.target import Platform, Target
from vvbuild.runtime.files import hash_file

# What belongs to the package and not to the engine that it ships.
_NOT_ENGINE = {"__pycache__", "tools"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the engine's sources: where it goes in the engine's root, and its bytes."""

    path: str
    source: Path
    digest: Digest


@dataclass(frozen=True, slots=True)
class BundleInputs:
    """What a plan is computed from. Gathering it reads files; planning does not."""

    release: LoadedRelease
    lock: Lock
    target: Target
    host: Platform
    python: PythonFacts
    python_identity: Digest
    host_programs: Mapping[str, str]
    engine: tuple[SourceFile, ...]
    extra_sources: tuple[SourceFile, ...]
    tools: Mapping[str, Tool]
    recipe: Recipe
    kinds: tuple[ArchiveKind, ...]
    release_why: str
    own_manifests: Mapping[str, Digest]
    unlocked: Mapping[str, Mapping[str, str]]
    ways: Ways
    sdist: Artifact
    terms: tuple[Terms, ...]

    @property
    def stem(self) -> str:
        """The archives' file name without ending."""
        return self.release.archive_names(self.target)[0]

    @property
    def top(self) -> str:
        """The top folder inside the `.7z`."""
        return self.release.archive_names(self.target)[1]


def gather_inputs(
    *,
    release: Chosen,
    target: str,
    store: Store,
    python: Path | None = None,
    kinds: tuple[ArchiveKind, ...] | None = None,
    trust: Callable[[LoadedRelease, Target], Trusted] | None = None,
    fetcher: Fetcher = "auto",
    accepts: Acceptance | None = None,
) -> BundleInputs:
    """Look everything up, so that whatever is missing is said before the first download.

    ``trust`` fills the gaps of the lock; without it they are refused. ``accepts`` is what the
    user says of terms.

    Raises typed errors for unknown names, a target that this host cannot freeze, a Python that
    does not fit, and host programs that are missing.
    """
    loaded = release.release
    wanted = loaded.target(target)
    lock = load_release_lock(loaded)
    if trust is None:
        require_locked(loaded, lock, wanted)
    require_freezable(wanted)
    facts = find_python(loaded.row.python.requires, python)
    require_needs(facts)
    host = host_platform()
    recipe = load_recipe(loaded.row.engine.recipe)
    # Last: it asks servers, and everything above is said sooner.
    trusted = trust(loaded, wanted) if trust and lock.gaps(wanted) else Trusted(lock, {})
    terms, consent = (accepts or Acceptance()).require(
        trusted.lock.for_target(wanted), lambda digest: read_terms(loaded, digest, trusted.texts)
    )
    return BundleInputs(
        release=loaded,
        lock=trusted.lock,
        target=wanted,
        host=host,
        python=facts,
        python_identity=python_identity(facts, store.base / "pythons"),
        host_programs=program_digests(),
        engine=engine_files(loaded),
        extra_sources=_extra_sources(),
        tools=_tools(loaded, recipe, wanted, host),
        recipe=recipe,
        kinds=kinds or loaded.row.archives.kinds,
        release_why=release.why,
        own_manifests=_own_manifests(loaded, recipe),
        unlocked=trusted.taken,
        ways=choose_ways(loaded, trusted.lock, wanted, fetcher, consent),
        sdist=_sdist(loaded, trusted.lock, wanted),
        terms=terms,
    )


def _sdist(release: LoadedRelease, lock: Lock, target: Target) -> Artifact:
    """The sources of PyInstaller, which the bootloader is built from."""
    found = lock.component("pyinstaller", target)
    if len(found) == 1:
        return found[0]
    raise ManifestError(
        f"The release {release.name!r} has {len(found)} artifacts of pyinstaller for {target}.",
        context={"file": release.path},
        hint="A bundle needs one: the sdist, as `pypi:pyinstaller/{version}/pyinstaller-….tar.gz`.",
    )


def _own_manifests(release: LoadedRelease, recipe: Recipe) -> dict[str, Digest]:
    """What of this comes from a user's own manifests or a checkout's: name and digest."""
    read = {
        *release.document.files,
        lock_path(release.name, release.path),
        recipe_file(recipe.name),
        *map(resources.manifest_file, ("targets.toml", "tools.toml")),
        lock_path(LOCK_NAME),
    }
    packaged = resources.manifests_dir()
    own = sorted(path for path in read if packaged not in path.parents)
    return {path.name: hash_file(path) for path in own}


def _tools(
    release: LoadedRelease, recipe: Recipe, target: Target, host: Platform
) -> dict[str, Tool]:
    """The pinned tools that this target's steps run; patchelf is not made for every host."""
    renames = target.os == "linux" or any(row.soname for row in placements(recipe, target))
    return {
        name: find_tool(name, version, host)
        for name, version in release.row.tools.items()
        if renames or name != "patchelf"
    }


def engine_files(release: LoadedRelease) -> tuple[SourceFile, ...]:
    """The sources of an engine that the package ships, in the order of their paths.

    Raises :class:`ManifestError` for an engine whose sources are elsewhere.
    """
    if release.row.engine.source == "github":
        raise ManifestError(
            f"The engine's sources of {release.name} are fetched from GitHub, "
            "which bundle does not do yet.",
            context={"repository": release.row.engine.repository,
                     "commit": release.row.engine.commit},
            hint="The release `sample` can be built.",
        )  # fmt: skip
    files: dict[str, SourceFile] = {}
    for place, member in release.row.engine.files.items():
        source = resources.package_dir() / member
        if source.is_file():
            files[place] = SourceFile(place, source, hash_file(source))
            continue
        if not source.is_dir():
            raise ManifestError(
                f"The release {release.name!r} takes {member!r} from vvbuild, which is not there.",
                context={"file": release.path, "key": "engine.files"},
            )
        for path, relative, kind in walk(source):
            if kind == "directory" or _NOT_ENGINE & set(Path(relative).parts):
                continue
            where = relative if place == "." else f"{place}/{relative}"
            files[where] = SourceFile(where, path, hash_file(path))
    if not files:
        raise ManifestError(f"The release {release.name!r} names no engine sources.")
    return tuple(files[path] for path in sorted(files))


def _extra_sources() -> tuple[SourceFile, ...]:
    directory = resources.data_root() / "bootloader_extra"
    return tuple(
        SourceFile(path.name, path, hash_file(path)) for path in sorted(directory.glob("*.c"))
    )
