"""What a bundle must hold besides programs, and what not: ``manifests/bytes/content.toml``."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta

from vvbuild.model.finding import Severity
from vvbuild.model.release import ComponentName
from vvbuild.model.row import Row, Text
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Device, Os, covered
from vvbuild.model.version import within

Paths = Annotated[
    list[Text],
    Meta(min_length=1, description="Paths or globs; `*` goes through folders, too."),
]
Source = Annotated[str, Meta(min_length=1, description="Where what the row says can be read.")]
Size = Annotated[str, Meta(description="Such as `1900MiB`.")]
Hex = Annotated[str, Meta(pattern="^([0-9a-f]{2})+$")]
Uuid = Annotated[str, Meta(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]


class ManifestRow(Row, frozen=True, kw_only=True):
    """Fields that an engine's manifest must have."""

    fields: Annotated[list[Text], Meta(min_length=1)]
    not_in: Annotated[
        str | None, Meta(description="Range of versions of the engine that did without.")
    ] = None
    source: Source


class UnneededRow(Row, frozen=True, kw_only=True):
    """Files that nothing in a bundle reads while it runs."""

    what: Annotated[Text, Meta(description="What they are, in the plural.")]
    names: Paths
    device: Annotated[
        list[Device], Meta(description="Only in bundles for these; all if empty.")
    ] = []
    collected: Annotated[
        bool, Meta(description="Whether that also counts inside PyInstaller's folder.")
    ] = True
    severity: Severity = "warning"
    source: Source


class BeginningRow(Row, frozen=True, kw_only=True):
    """How files of a kind begin."""

    what: Annotated[Text, Meta(description="What they are, in the singular.")]
    names: Paths
    begins: Annotated[list[Hex], Meta(min_length=1, description="In hexadecimal; one of them.")]
    least: Annotated[int, Meta(ge=0, description="Bytes without which it holds nothing.")] = 0
    source: Source


class CodeRow(Row, frozen=True, kw_only=True):
    """How programs and libraries of a system are called."""

    os: Os
    names: Paths
    source: Source


class DataRow(Row, frozen=True, kw_only=True):
    """Files that a frozen package opens; ``{contents}`` is PyInstaller's folder."""

    module: Annotated[Text, Meta(description="The package, as it is imported.")]
    what: Annotated[Text, Meta(description="What the files are.")]
    files: Annotated[Paths, Meta(description="Each must be there, and not be empty.")]
    dictionary: Annotated[bool, Meta(description="Whether it is a dictionary.")] = False
    os: Annotated[list[Os], Meta(description="Only there; everywhere if empty.")] = []
    source: Source


class CharactersRow(Row, frozen=True, kw_only=True):
    """Where an engine keeps what it tells about its characters, a folder for each uuid."""

    module: Annotated[
        str | None, Meta(description="Only where this module is frozen into the program.")
    ] = None
    folder: Text
    files: Annotated[list[Text], Meta(description="Files of every character.")]
    style_files: Annotated[list[Text], Meta(description="Files of every style; `{id}` is its.")]
    style_types: Annotated[list[Text], Meta(description="The types of styles that are meant.")]
    filemap: Annotated[
        bool, Meta(description="Whether the engine does not start without filemap.json.")
    ] = False
    source: Source


class OldCoreRow(Row, frozen=True, kw_only=True):
    """Cores that come with a ``metas.json`` beside them."""

    names: Paths
    source: Source


class ProductRow(Row, frozen=True, kw_only=True):
    """An engine, and the voice models that are its own."""

    name: Text
    uuid: Uuid
    models: Paths
    source: Source


class LicenceRow(Row, frozen=True, kw_only=True):
    """Libraries whose licence must go with them."""

    of: Annotated[Text, Meta(description="Whose licence it is.")]
    libraries: Paths
    entries: Annotated[
        list[Text], Meta(description="Globs of names in dependency_licenses.json, in lower case.")
    ]
    files: Annotated[list[Text], Meta(description="Or a file of this name or glob.")] = []
    severity: Severity = "error"
    source: Source


class PathsRow(Row, frozen=True, kw_only=True):
    """How long names may be on a system, and which ones it refuses."""

    os: Os
    longest_name: Annotated[int, Meta(ge=1)]
    longest_path: Annotated[int, Meta(ge=1, description="With the folder that it lies in.")]
    counts: Annotated[Literal["bytes", "utf-16"], Meta(description="What is counted.")]
    folder: Annotated[
        Text, Meta(description="Where the editor unpacks it: `{name}` and `{uuid}` as declared.")
    ]
    characters: Annotated[str, Meta(description="Characters that no name may hold.")] = ""
    reserved: Annotated[list[Text], Meta(description="Names that are devices.")] = []
    ends: Annotated[str, Meta(description="Characters that no name may end with.")] = ""
    ignores_case: bool = False
    source: Source


class BudgetRow(Row, frozen=True, kw_only=True):
    """How large a bundle may be; the first row that fits counts."""

    targets: Annotated[list[Text], Meta(min_length=1, description="Names or globs of targets.")]
    bundle: Size
    source: Source


class ShareRow(Row, frozen=True, kw_only=True):
    """How large some files of a bundle may be together."""

    what: Text
    names: Paths
    most: Size
    source: Source

    def chosen(self, paths: Iterable[str]) -> list[str]:
        """Those that are meant."""
        return [path for path in paths if meant(path, self.names)]


class ToldRow(Row, frozen=True, kw_only=True):
    """Where the bytes of a bundle tell a component's version."""

    component: ComponentName
    names: Annotated[Paths, Meta(description="Files that tell it.")]
    by: Annotated[
        Literal["name", "link-name", "version-resource"],
        Meta(
            description="`name`: the file's; `link-name`: SONAME or install name; "
            "`version-resource`: of a Windows file."
        ),
    ]
    pattern: Annotated[str, Meta(description="Its groups are the version's numbers.")]
    source: Source

    def is_about(self, path: str) -> bool:
        """Whether that file tells it."""
        return meant(path, self.names)


class ContentTable(Row, frozen=True, kw_only=True):
    """``manifests/bytes/content.toml``."""

    schema: Literal["vvbuild.bytes.content/1"]
    largest_asset: Annotated[Size, Meta(description="What a release takes as one file.")]
    placeholders: Annotated[list[Text], Meta(description="Versions that say nothing.")]
    may_be_empty: Paths
    documents: Annotated[Paths, Meta(description="JSON files that rules look into.")]
    manifest: list[ManifestRow]
    unneeded: list[UnneededRow]
    beginning: list[BeginningRow]
    code: list[CodeRow]
    data: list[DataRow]
    characters: list[CharactersRow]
    old_core: list[OldCoreRow]
    product: list[ProductRow]
    licence: list[LicenceRow]
    paths: list[PathsRow]
    budget: list[BudgetRow]
    share: list[ShareRow]
    told: list[ToldRow]

    def manifest_fields(self, version: str) -> list[str]:
        """What the manifest of an engine of that version must have."""
        return [
            field
            for row in self.manifest
            if row.not_in is None or not within(version, row.not_in)
            for field in row.fields
        ]

    def paths_of(self, os: Os) -> PathsRow | None:
        """What that system demands of names."""
        return next((row for row in self.paths if row.os == os), None)

    def is_code(self, path: str, os: Os | None) -> bool:
        """Whether a file is called as that system's programs and libraries are."""
        return any(meant(path, row.names) for row in self.code if row.os == os)

    def budget_of(self, target: str) -> BudgetRow | None:
        """How large a bundle for a target may be; ``""`` for one of which nothing is known."""
        return next((row for row in self.budget if covered(target, row.targets)), None)

    def modules(self) -> frozenset[str]:
        """The modules that rows ask about."""
        maps = (row.module for row in self.characters if row.module)
        return frozenset(row.module for row in self.data) | frozenset(maps)

    @property
    def largest_asset_bytes(self) -> int:
        """``largest_asset`` in bytes."""
        return ByteSize.parse(self.largest_asset)


def meant(path: str, globs: list[str]) -> bool:
    """Whether a path is meant; a glob without a slash is about the last part of it."""
    names, paths = _compiled(tuple(globs))
    if names is not None and names.fullmatch(path.rpartition("/")[2]):
        return True
    return paths is not None and paths.fullmatch(path) is not None


@functools.cache
def _compiled(globs: tuple[str, ...]) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """What names match, and what paths match; one pattern is quicker than many globs."""
    kinds = ([each for each in globs if "/" not in each], [each for each in globs if "/" in each])
    names, paths = (
        re.compile("|".join(map(fnmatch.translate, each))) if each else None for each in kinds
    )
    return names, paths
