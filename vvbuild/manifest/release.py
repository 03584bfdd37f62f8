"""Loading releases: the format is checked by the types, what it means is checked here."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vvbuild import resources
from vvbuild.errors import UnknownNameError
from vvbuild.manifest.decode import Document, Problem, decode, nearest, no_such, read_document
from vvbuild.manifest.targets import official_targets
from vvbuild.model.artifact import check_file_name
from vvbuild.model.digest import Digest
from vvbuild.model.reference import Reference
from vvbuild.model.release import ArtifactRow, Release
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Target

GITHUB_ASSET_LIMIT = 2 << 30
_ZIP_YEARS = (1980, 2107)
_NEEDED_TOOLS = ("7zip", "patchelf", "uv")


@dataclass(frozen=True, slots=True)
class PinnedArtifact:
    """An artifact as the manifest names it, before a lock gives it a digest."""

    name: str
    component: str
    version: str
    references: tuple[Reference, ...]
    targets: tuple[str, ...]
    max_size: ByteSize | None
    licence: str


class LoadedRelease:
    """A release manifest that has been checked."""

    def __init__(self, path: Path, release: Release, *, allow_local: bool = False) -> None:
        self.path = path
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

    @cached_property
    def epoch(self) -> int:
        """SOURCE_DATE_EPOCH: seconds since 1970 of the engine's commit."""
        return int(self.row.engine.time.timestamp())

    @cached_property
    def artifacts(self) -> tuple[PinnedArtifact, ...]:
        """Every artifact of the manifest, with the component's version filled in."""
        return tuple(
            pin_artifact(self.row, row, allow_local=self._allow_local) for row in self.row.artifacts
        )

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
                }
                for item in self.artifacts
            ]
        )


def release_names() -> tuple[str, ...]:
    """The packaged releases, sorted."""
    directory = resources.manifests_dir() / "releases"
    return tuple(sorted(path.stem for path in directory.glob("*.toml")))


def find_release(name: str) -> LoadedRelease:
    """The packaged release of that name. Raises :class:`UnknownNameError` with the nearest."""
    names = release_names()
    if name not in names:
        raise UnknownNameError(
            no_such("release", name, names),
            context={"releases": ", ".join(names)},
            hint="`vvbuild releases` lists them.",
        )
    return load_release(resources.manifests_dir() / "releases" / f"{name}.toml")


def load_release(path: Path, *, allow_local: bool = False) -> LoadedRelease:
    """Load and check a manifest; ``allow_local`` admits loopback and ``file:`` references.

    Raises :class:`~vvbuild.errors.ManifestError` that names file, line and what was expected.
    """
    document = read_document(path)
    release = decode(document, Release)
    problems = list(_meaning_problems(release, document, allow_local=allow_local))
    if problems:
        raise document.error(problems)
    return LoadedRelease(path, release, allow_local=allow_local)


def pin_artifact(release: Release, row: ArtifactRow, *, allow_local: bool) -> PinnedArtifact:
    """Fill in a row of the manifest; ``ValueError`` and ``KeyError`` say what is wrong with it."""
    component = release.components[row.component]
    texts = [text.replace("{version}", component.version) for text in row.references]
    references = tuple(Reference.parse(text, allow_local=allow_local) for text in texts)
    return PinnedArtifact(
        name=check_file_name(row.name or references[0].file),
        component=row.component,
        version=component.version,
        references=references,
        targets=tuple(
            name
            for name in release.targets
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in row.targets)
        ),
        max_size=ByteSize.parse(row.max_size) if row.max_size else None,
        licence=component.licence,
    )


def expand(text: str, *, target: str, version: str) -> str:
    """Fill ``{target}`` and ``{version}`` into an archive's name.

    Raises ``ValueError`` unless a plain file name comes out.
    """
    filled = text.replace("{target}", target).replace("{version}", version)
    if "{" in filled or "}" in filled:
        raise ValueError(f"only {{target}} and {{version}} can stand in it, got {text!r}")
    return check_file_name(filled)


def _meaning_problems(
    release: Release, document: Document, *, allow_local: bool
) -> Iterator[Problem]:
    if document.path.stem != release.name:
        yield ("name",), f"expected {document.path.stem!r}, the file's name, got {release.name!r}"
    yield from _target_problems(release)
    yield from _python_problems(release)
    yield from _engine_problems(release)
    yield from _tool_problems(release)
    yield from _archive_problems(release)
    names: dict[str, int] = {}
    for index, row in enumerate(release.artifacts):
        where = ("artifacts", index)
        if row.component not in release.components:
            yield (*where, "component"), f"no [components.{row.component}] pins its version"
            continue
        try:
            pinned = pin_artifact(release, row, allow_local=allow_local)
        except ValueError as error:
            yield (*where, _blamed(row)), str(error)
            continue
        yield from ((where + key, message) for key, message in _row_problems(release, row, pinned))
        if pinned.name in names:
            yield (
                (*where, "name"),
                f"{pinned.name!r} is also the name of artifacts[{names[pinned.name]}]",
            )
        names.setdefault(pinned.name, index)


def _target_problems(release: Release) -> Iterator[Problem]:
    known = [str(target) for target in official_targets()]
    for index, name in enumerate(release.targets):
        if name not in known:
            yield ("targets", index), f"unknown target{nearest(name, known)}"
        if name in release.targets[:index]:
            yield ("targets", index), f"{name!r} stands twice"


def _python_problems(release: Release) -> Iterator[Problem]:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        SpecifierSet(release.python.requires)
    except InvalidSpecifier:
        yield (
            ("python", "requires"),
            f"expected a version specifier such as ==3.11.9, got {release.python.requires!r}",
        )


def _engine_problems(release: Release) -> Iterator[Problem]:
    engine = release.engine
    if engine.time.tzinfo is None:
        yield ("engine", "time"), "expected a time with a zone, such as 2026-04-30T12:00:00Z"
    elif not _ZIP_YEARS[0] <= engine.time.year < _ZIP_YEARS[1]:
        yield ("engine", "time"), f"a zip holds the years {_ZIP_YEARS[0]} to {_ZIP_YEARS[1]}"
    for key in ("version", "recipe", "program"):
        if complaint := _complaint(check_file_name, getattr(engine, key)):
            yield ("engine", key), complaint
    for key in ("spec", "requirements"):
        if not _stays_inside(getattr(engine, key)):
            yield ("engine", key), f"expected a path inside, got {getattr(engine, key)!r}"
    for place, member in engine.files.items():
        for path in (place, member):
            if not _stays_inside(path):
                yield ("engine", "files", place), f"expected a path inside, got {path!r}"


def _stays_inside(path: str) -> bool:
    plain = not re.search(r"[\x00-\x1f\\:]", path)
    return plain and not {"", ".."} & set(path.split("/"))


def _tool_problems(release: Release) -> Iterator[Problem]:
    # Only the names: whether a tool is made for this host is a question for the host.
    from vvbuild.manifest.tools import tool_table

    table = tool_table().tools
    for name, version in release.tools.items():
        if name not in table:
            yield ("tools", name), f"unknown tool{nearest(name, table)}"
        elif version not in table[name]:
            yield ("tools", name), f"unknown version{nearest(version, table[name])}"
    for name in (*_NEEDED_TOOLS, release.bootloader):
        if name not in release.tools:
            yield ("tools",), f"the key {name!r} is missing; building a bundle runs it"


def _blamed(row: ArtifactRow) -> str:
    """The key of a row that cannot be pinned."""
    if row.max_size is not None and _complaint(ByteSize.parse, row.max_size):
        return "max_size"
    return (
        "name" if row.name is not None and _complaint(check_file_name, row.name) else "references"
    )


def _complaint(check: Callable[[str], object], text: str) -> str | None:
    try:
        check(text)
    except ValueError as error:
        return str(error)
    return None


def _archive_problems(release: Release) -> Iterator[Problem]:
    def check(text: str) -> str:
        return expand(text, target="win-x64-directml", version=release.engine.version)

    for key in ("stem", "top"):
        if complaint := _complaint(check, getattr(release.archives, key)):
            yield ("archives", key), complaint
    if len(set(release.archives.kinds)) < len(release.archives.kinds):
        yield ("archives", "kinds"), "a format stands twice"
    try:
        size = ByteSize.parse(release.archives.volume_size)
        if not 0 < size < GITHUB_ASSET_LIMIT:
            yield ("archives", "volume_size"), f"must be below 2 GiB, GitHub's limit, got {size}"
    except ValueError as error:
        yield ("archives", "volume_size"), str(error)


def _row_problems(
    release: Release, row: ArtifactRow, pinned: PinnedArtifact
) -> Iterator[tuple[tuple[str], str]]:
    for pattern in row.targets:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in release.targets):
            yield ("targets",), f"{pattern!r} matches no target of this release"
    source = row.source or release.components[row.component].source
    expected = {"pypi": "pypi", "npm": "npm", "github": "github", "core-downloader": "github"}
    first = pinned.references[0]
    if source in expected and first.source != expected[source]:
        yield ("references",), f"the source is {source!r}, but the first reference is {first}"
