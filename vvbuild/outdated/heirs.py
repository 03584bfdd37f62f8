"""Releases that inherit a pin from another release's file, and so move with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from vvbuild.errors import ManifestError
from vvbuild.manifest.release import LoadedRelease, find_release, release_names


def heirs(loaded: LoadedRelease, components: Collection[str]) -> tuple[str, ...]:
    """The known releases whose pin of one of ``components`` would change with this file."""
    others = dict(_others(loaded))
    return tuple(
        name
        for name in others
        if (between := _between(name, loaded.name, others)) is not None
        and any(_says(others[name], component) not in between for component in components)
    )


def _others(loaded: LoadedRelease) -> list[tuple[str, LoadedRelease]]:
    found = []
    for name in release_names():
        try:
            other = find_release(name)
        except ManifestError:
            # What is wrong with another manifest is told where it is used.
            continue
        if other.path.resolve() != loaded.path.resolve():
            found.append((name, other))
    return found


def _between(name: str, above: str, others: Mapping[str, LoadedRelease]) -> set[str] | None:
    """The files from a release up to, without, ``above``; ``None`` if it is not above it."""
    files = set()
    here: str | None = name
    while here != above:
        if here is None or here not in others:
            return None
        files.add(str(others[here].path))
        here = others[here].row.extends
    return files


def _says(release: LoadedRelease, component: str) -> str:
    """The file that holds a release's pin."""
    return release.document.where(("components", component, "version")).rpartition(":")[0]
