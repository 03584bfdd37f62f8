"""Loading releases: the format is checked by the types, what it means is checked here."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from vvbuild import resources
from vvbuild.errors import ManifestError, UnknownNameError
from vvbuild.manifest.decode import Document, decode, no_such
from vvbuild.manifest.inherit import read_release
from vvbuild.manifest.meaning import expand, meaning_problems
from vvbuild.manifest.pins import PinnedArtifact, pin_artifacts
from vvbuild.manifest.targets import find_target, official_targets
from vvbuild.model.digest import Digest
from vvbuild.model.release import Release
from vvbuild.model.target import Target

# What is none is never made into a path.
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class LoadedRelease:
    """A release manifest that has been checked."""

    def __init__(self, document: Document, release: Release, *, allow_local: bool = False) -> None:
        self.document = document
        self.path = document.path
        self.row = release
        self._allow_local = allow_local

    @property
    def name(self) -> str:
        """The release's name."""
        return self.row.name

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The targets that it is built for."""
        return tuple(Target.parse(name) for name in self.row.targets)

    def target(self, name: str) -> Target:
        """The target of that name, or of an upstream spelling, that the release is made for.

        Raises :class:`UnknownNameError` for what is no target, and :class:`ManifestError` for one
        that the release is not made for.
        """
        target = find_target(name)
        if target not in self.targets:
            raise ManifestError(
                f"The release {self.name!r} is not made for {target}.",
                context={"targets": ", ".join(map(str, self.targets))},
            )
        return target

    @cached_property
    def epoch(self) -> int:
        """SOURCE_DATE_EPOCH: seconds since 1970 of the engine's commit."""
        return int(self.row.engine.time.timestamp())

    @cached_property
    def artifacts(self) -> tuple[PinnedArtifact, ...]:
        """Every artifact of the manifest, with the component's version filled in."""
        return tuple(
            artifact
            for row in self.row.artifacts
            for artifact in pin_artifacts(self.row, row, allow_local=self._allow_local)
        )

    def upstream_name(self, target: Target) -> str:
        """How the engine called that target in this release."""
        return self.row.upstream.get(str(target)) or official_targets()[target].upstream

    def runner(self, target: Target) -> str:
        """The CI runner that this release builds the target on."""
        return self.row.runners.get(str(target)) or official_targets()[target].runner

    def archive_names(self, target: Target) -> tuple[str, str]:
        """The archives' file name without ending, and the top folder inside the `.7z`."""
        words = {
            "target": str(target),
            "upstream": self.upstream_name(target),
            "version": self.row.engine.version,
        }
        return expand(self.row.archives.stem, **words), expand(self.row.archives.top, **words)

    @cached_property
    def pins_digest(self) -> Digest:
        """Digest of all that decides which bytes a lock must name; comments do not count."""
        return Digest.of_json(
            [
                {
                    "name": item.name,
                    "component": item.component,
                    "version": item.version,
                    "references": [str(reference) for reference in item.references],
                    "targets": item.targets,
                    "max_size": item.max_size,
                    **item.placing,
                }
                for item in self.artifacts
            ]
        )


def release_names() -> tuple[str, ...]:
    """The releases by version, those with another name last."""
    names = resources.manifest_names("releases")
    return tuple(sorted((name for name in names if not name.startswith("_")), key=_by_version))


def _by_version(name: str) -> tuple[int, tuple[int, ...], str]:
    parts = name.split(".")
    if all(part.isdigit() for part in parts):
        return 0, tuple(int(part) for part in parts), name
    return 1, (), name


def find_release(name: str) -> LoadedRelease:
    """The release of that name. Raises :class:`UnknownNameError` with the nearest."""
    path = resources.manifest_file(f"releases/{name}.toml") if _NAME.fullmatch(name) else None
    if path is None or not path.is_file():
        names = release_names()
        raise UnknownNameError(
            no_such("release", name, names),
            context={"releases": ", ".join(names)},
            hint="`vvbuild releases` lists them.",
        )
    return load_release(path)


def load_release(path: Path, *, allow_local: bool = False) -> LoadedRelease:
    """Load and check a manifest; ``allow_local`` admits loopback and ``file:`` references.

    Raises :class:`~vvbuild.errors.ManifestError` that names file, line and what was expected.
    """
    document = read_release(path)
    release = decode(document, Release)
    problems = list(meaning_problems(release, document, allow_local=allow_local))
    if problems:
        raise document.error(problems)
    return LoadedRelease(document, release, allow_local=allow_local)
