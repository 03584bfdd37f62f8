"""What a release manifest means, checked after its form: names, versions, targets, limits."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator

from vvbuild.manifest.decode import Document, Problem, nearest
from vvbuild.manifest.inherit import CHECKOUT_FILE
from vvbuild.manifest.pins import PinnedArtifact, pin_artifacts
from vvbuild.manifest.targets import official_targets
from vvbuild.model.artifact import check_file_name
from vvbuild.model.release import ArtifactRow, Engine, Release
from vvbuild.model.size import ByteSize
from vvbuild.model.version import clauses

GITHUB_ASSET_LIMIT = 2 << 30
_ZIP_YEARS = (1980, 2107)
_NEEDED_TOOLS = ("7zip", "patchelf", "uv")


def expand(text: str, *, target: str, upstream: str, version: str) -> str:
    """Fill ``{target}``, ``{upstream}`` and ``{version}`` into an archive's name.

    Raises ``ValueError`` unless a plain file name comes out.
    """
    filled = text
    for word, value in (("target", target), ("upstream", upstream), ("version", version)):
        filled = filled.replace(f"{{{word}}}", value)
    if "{" in filled or "}" in filled:
        raise ValueError(
            f"only {{target}}, {{upstream}} and {{version}} can stand in it, got {text!r}"
        )
    return check_file_name(filled)


def meaning_problems(
    release: Release, document: Document, *, allow_local: bool
) -> Iterator[Problem]:
    """Yield where a manifest of the right form cannot be meant, and what was expected."""
    if document.path.stem != release.name and document.path.name != CHECKOUT_FILE:
        yield ("name",), f"expected {document.path.stem!r}, the file's name, got {release.name!r}"
    yield from _target_problems(release)
    yield from _python_problems(release)
    yield from _engine_problems(release)
    yield from _tool_problems(release)
    yield from _archive_problems(release)
    yield from _component_problems(release)
    yield from _named_target_problems(release)
    names: dict[str, int] = {}
    for index, row in enumerate(release.artifacts):
        where = ("artifacts", index)
        if row.component not in release.components:
            yield (*where, "component"), f"no [components.{row.component}] pins its version"
            continue
        try:
            pinned = pin_artifacts(release, row, allow_local=allow_local)
        except ValueError as error:
            yield (*where, _blamed(row)), str(error)
            continue
        yield from ((where + key, message) for key, message in _row_problems(release, row, pinned))
        for artifact in pinned:
            if artifact.name in names:
                yield (
                    (*where, "name"),
                    f"{artifact.name!r} is also the name of artifacts[{names[artifact.name]}]",
                )
            names.setdefault(artifact.name, index)


def _target_problems(release: Release) -> Iterator[Problem]:
    known = [str(target) for target in official_targets()]
    for index, name in enumerate(release.targets):
        if name not in known:
            yield ("targets", index), f"unknown target{nearest(name, known)}"
        if name in release.targets[:index]:
            yield ("targets", index), f"{name!r} stands twice"


def _python_problems(release: Release) -> Iterator[Problem]:
    try:
        clauses(release.python.requires)
        return
    except ValueError:
        # Most are plain comparisons, which need no second opinion from a slow import.
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
    if engine.source == "github" and not (engine.repository and engine.commit):
        yield ("engine",), "the source is 'github': expected a repository and a commit"
    for key in ("version", "recipe", "program"):
        if complaint := _complaint(check_file_name, getattr(engine, key)):
            yield ("engine", key), complaint
    yield from _engine_path_problems(engine)


def _engine_path_problems(engine: Engine) -> Iterator[Problem]:
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
        return expand(
            text, target="win-x64-cpu", upstream="windows-cpu", version=release.engine.version
        )

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
    release: Release, row: ArtifactRow, pinned: tuple[PinnedArtifact, ...]
) -> Iterator[tuple[tuple[str], str]]:
    yield from _glob_problems(release, row.targets)
    if row.terms == "release-note" and pinned and pinned[0].references[0].source != "github":
        yield ("terms",), "'release-note' needs a reference to a release of GitHub"
    if row.into and not _stays_inside(row.into):
        yield ("into",), f"expected a folder inside, got {row.into!r}"
    source = row.source or release.components[row.component].source
    expected = {"pypi": "pypi", "npm": "npm", "github": "github", "core-downloader": "github"}
    for artifact in pinned:
        first = artifact.references[0]
        if source in expected and first.source != expected[source]:
            yield ("references",), f"the source is {source!r}, but the first reference is {first}"


def _glob_problems(release: Release, globs: list[str]) -> Iterator[tuple[tuple[str], str]]:
    # What is inherited may also be for targets that this release does not have yet.
    known = release.targets if release.extends is None else list(map(str, official_targets()))
    for pattern in globs:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in known):
            whose = "of this release" if release.extends is None else "that there is"
            yield ("targets",), f"{pattern!r} matches no target {whose}"


def _component_problems(release: Release) -> Iterator[Problem]:
    for name, row in release.components.items():
        where = ("components", name)
        if row.provided_by is not None and row.provided_by not in release.components:
            yield (*where, "provided_by"), f"no [components.{row.provided_by}] in this release"
        if row.flavour is not None and name != "onnxruntime":
            yield (*where, "flavour"), "only onnxruntime has flavours"
        if row.pattern is not None and name != "models":
            yield (*where, "pattern"), "only models are chosen by a pattern"
        if row.also and name != "extra-cores":
            yield (*where, "also"), "only extra-cores can be there in several versions"
        if name == "onnxruntime" and row.flavour is None:
            yield where, "the key 'flavour' is missing: whose build of ONNX Runtime it is"


def _named_target_problems(release: Release) -> Iterator[Problem]:
    for table in ("runners", "upstream"):
        for name in getattr(release, table):
            if name not in release.targets:
                yield (table, name), f"unknown target{nearest(name, release.targets)}"
    for index, waiver in enumerate(release.waivers):
        for key, message in _glob_problems(release, waiver.targets):
            yield ("waivers", index, *key), message
