"""Which of the releases pin a version of a component."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from vvbuild import resources
from vvbuild.explain.explanation import Place
from vvbuild.manifest.release import LoadedRelease, find_release, release_names
from vvbuild.model.release import Flavour
from vvbuild.model.version import numbers


@resources.cached
def all_releases() -> tuple[LoadedRelease, ...]:
    """Every release in the order of releases, loaded once."""
    return tuple(find_release(name) for name in release_names())


def pinned(
    component: str, version: str | None = None, flavour: Flavour | None = None
) -> tuple[Place, ...]:
    """Every release that pins it, in the order of releases.

    ``12.8`` is also 12.8.1: a pin counts where its version begins with the one asked for.
    Without a version every pin counts.
    """
    places = {"engine": _engine, "python": _python}.get(component, partial(_component, component))
    return tuple(place for release in all_releases() for place in places(release, version, flavour))


def same_version(pin: str, asked: str) -> bool:
    """Whether a pinned version is the one asked for, or begins with it."""
    if numbers(pin) is not None and numbers(pin) == numbers(asked):
        return True
    return pin == asked or pin.startswith((f"{asked}.", f"{asked}-", f"{asked}_"))


def _component(
    component: str, release: LoadedRelease, version: str | None, flavour: Flavour | None
) -> Iterator[Place]:
    row = next((row for name, row in release.row.components.items() if name == component), None)
    if row is None or (flavour is not None and row.flavour != flavour):
        return
    targets: dict[str, list[str]] = {}
    for target in filter(row.concerns, release.row.targets):
        for pin in (row.version_for(target), *row.also):
            if version is None or same_version(pin, version):
                targets.setdefault(pin, []).append(target)
    for pin, names in targets.items():
        yield Place(
            release.name,
            f"{pin} ({row.flavour})" if row.flavour else pin,
            tuple(names),
            len(names) == len(release.targets),
            release.document.where(("components", component, "version")),
        )


def _engine(release: LoadedRelease, version: str | None, _: Flavour | None) -> Iterator[Place]:
    pin = release.row.engine.version
    if version is None or same_version(pin, version):
        yield _whole(release, pin, ("engine", "version"))


def _python(release: LoadedRelease, version: str | None, _: Flavour | None) -> Iterator[Place]:
    from packaging.specifiers import SpecifierSet

    pin = release.row.python.requires
    exact = pin.removeprefix("==")
    if version is None or SpecifierSet(pin).contains(version) or same_version(exact, version):
        yield _whole(release, pin, ("python", "requires"))


def _whole(release: LoadedRelease, text: str, key: tuple[str, ...]) -> Place:
    return Place(release.name, text, tuple(release.row.targets), True, release.document.where(key))
