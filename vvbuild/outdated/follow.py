"""Where the versions of a component are listed, and which files a version must have."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from vvbuild.manifest.pins import spellings
from vvbuild.manifest.policy import VERSION, followed, read_template
from vvbuild.model.policy import ComponentPolicy
from vvbuild.model.reference import Reference, Source
from vvbuild.model.release import Release
from vvbuild.model.target import Target, covered
from vvbuild.outdated.order import Scheme

_LISTED: tuple[Source, ...] = ("pypi", "npm", "github")


@dataclass(frozen=True, slots=True)
class Place:
    """A project that lists versions; ``tag`` is how it writes one, such as ``v{version}``."""

    source: Source
    project: str
    tag: str = VERSION

    def __str__(self) -> str:
        return f"{self.source}:{self.project}"

    def version(self, tag: str) -> str | None:
        """The version that a tag stands for, ``None`` where the tag is another one's."""
        before, _, after = self.tag.partition(VERSION)
        inner = tag[len(before) : len(tag) - len(after)]
        return inner if inner and tag == f"{before}{inner}{after}" else None


@dataclass(frozen=True, slots=True)
class Need:
    """A file that the manifest fetches, with ``{version}`` in its name; without one, any will do.

    ``targets`` are the targets that need it. With ``is_glob`` the name stands for one or more.
    """

    place: Place
    file: str
    targets: tuple[str, ...]
    is_glob: bool = False

    def name(self, version: str) -> str:
        """The name that a version's file must have."""
        return self.file.replace(VERSION, version)

    def among(self, files: Iterable[str], version: str) -> list[str]:
        """Those of a version's files that it means."""
        name = self.name(version)
        if self.is_glob:
            return [file for file in files if fnmatch.fnmatchcase(file, name)]
        return [file for file in files if file == name]


@dataclass(frozen=True, slots=True)
class Follow:
    """What is followed for a component: its projects, or why there are none."""

    needs: tuple[Need, ...]
    why_not: str = ""

    @property
    def places(self) -> tuple[Place, ...]:
        """Each project once, the one that decides the order of versions first."""
        return tuple(dict.fromkeys(need.place for need in self.needs))

    @property
    def scheme(self) -> Scheme:
        """How the versions are ordered."""
        return "python" if self.needs and self.needs[0].place.source == "pypi" else "plain"


def follow(release: Release, component: str, policy: ComponentPolicy) -> Follow:
    """Where newer versions of a component would be: by the policy, else by its references."""
    if policy.not_followed is not None:
        return Follow((), policy.not_followed)
    if policy.follows is not None:
        place = Place(*followed(policy.follows))
        return Follow((Need(place, "", ()),))
    rows = [row for row in release.artifacts if row.component == component]
    if not rows:
        return Follow((), "No artifact and no policy says where it comes from.")
    needs: dict[tuple[Place, str], Need] = {}
    for target, reference, glob in _references(release, component):
        if VERSION in reference.version and reference.source in _LISTED:
            file = _file(reference) if glob is None else glob
            need = Need(_place(reference), file, (target,), glob is not None)
            same = needs.setdefault((need.place, need.file), need)
            if target not in same.targets:
                needs[need.place, need.file] = replace(same, targets=(*same.targets, target))
    if needs:
        return Follow(tuple(needs.values()))
    return Follow((), _why_not(release, component))


def _references(release: Release, component: str) -> Iterator[tuple[str, Reference, str | None]]:
    """For each target and file of a component, the first reference that a version can move.

    Third is the glob that the file's name is, if it is one.
    """
    patterns = {str(name): each.pattern or "*" for name, each in release.components.items()}
    for row in release.artifacts:
        if row.component != component:
            continue
        for target in release.targets:
            if not covered(target, row.targets):
                continue
            templates = [read_template(_filled(text, target)) for text in row.references]
            listed = [
                each for each in templates if VERSION in each.version and each.source in _LISTED
            ]
            glob = row.assets and row.assets.replace("{pattern}", patterns[component])
            yield target, (listed or templates)[0], glob


def _filled(text: str, target: str) -> str:
    # A glob of assets needs no name of one.
    for word, spelling in {**spellings(Target.parse(target)), "asset": "asset"}.items():
        text = text.replace(f"{{{word}}}", spelling)
    return text


def _place(reference: Reference) -> Place:
    return Place(reference.source, reference.project, reference.version)


def _file(reference: Reference) -> str:
    """The name to look for; npm has one file a version."""
    return "" if reference.source == "npm" else reference.file


def _why_not(release: Release, component: str) -> str:
    sources = {reference.source for _, reference, _ in _references(release, component)}
    if sources and sources.isdisjoint(_LISTED):
        return "It comes from a plain address, which lists no versions."
    return "Its references do not hold {version}."
