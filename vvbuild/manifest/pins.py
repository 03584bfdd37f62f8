"""The artifacts that a manifest pins: its rows, filled in for each target."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from vvbuild import resources
from vvbuild.manifest.targets import official_targets, target_table
from vvbuild.model.artifact import check_file_name
from vvbuild.model.reference import Reference
from vvbuild.model.release import (
    ArtifactRow,
    Component,
    ComponentSource,
    Release,
    Terms,
    Unpack,
)
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Target, covered

# Stands for the name of an asset while a reference is read.
_ASSET = "asset"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class PinnedArtifact:
    """An artifact as the manifest names it, before a lock gives it a digest.

    With ``is_glob`` its ``name``, and its references' file, stand for all assets of a release
    that they match; a lock names each of them.
    """

    name: str
    component: str
    version: str
    references: tuple[Reference, ...]
    targets: tuple[str, ...]
    max_size: ByteSize | None
    licence: str
    is_glob: bool = False
    into: str = ""
    unpack: Unpack = "whole"
    terms: Terms | None = None
    source: ComponentSource | None = None

    @property
    def placing(self) -> dict[str, str]:
        """Where it goes and what must be accepted, as far as that is anything special."""
        special = {"into": self.into, "unpack": self.unpack, "terms": self.terms}
        return {key: value for key, value in special.items() if value not in ("", "whole", None)}

    @property
    def is_listed(self) -> bool:
        """Whether a lock can name what it holds: an archive that the core's downloader unpacks."""
        return self.source == "core-downloader" and self.unpack != "no"

    def covers(self, name: str) -> bool:
        """Whether an asset of that name is one of those that a glob stands for."""
        return self.is_glob and fnmatch.fnmatchcase(name, self.name)

    def named(self, asset: str) -> PinnedArtifact:
        """The pin of one asset that a glob stands for.

        Raises ``ValueError`` for a name that is no plain file's.
        """
        file = check_file_name(asset)
        references = tuple(replace(each, file=file) for each in self.references)
        return replace(self, name=file, references=references, is_glob=False)


def pin_artifacts(
    release: Release, row: ArtifactRow, *, allow_local: bool
) -> tuple[PinnedArtifact, ...]:
    """The files of one row: one for all targets that need the same.

    Raises ``ValueError`` that says what is wrong with the row.
    """
    pinned: dict[tuple[Reference, ...], PinnedArtifact] = {}
    for name in release.targets:
        if not covered(name, row.targets):
            continue
        artifact = _pin(release, row, name, allow_local=allow_local)
        same = pinned.get(artifact.references)
        if same is not None:
            artifact = replace(same, targets=(*same.targets, name))
        pinned[artifact.references] = artifact
    return tuple(pinned.values())


def _pin(release: Release, row: ArtifactRow, target: str, *, allow_local: bool) -> PinnedArtifact:
    component = release.components[row.component]
    version = component.version_for(target)
    words = {"version": version, **_spellings(target)}
    glob = None if row.assets is None else _glob(row, component)
    if glob is not None:
        words["asset"] = _ASSET
    references = tuple(
        Reference.parse(_fill(text, words), allow_local=allow_local) for text in row.references
    )
    if glob is not None:
        references = tuple(_of_assets(each, glob) for each in references)
    name = _fill(row.name, words) if row.name else references[0].file
    return PinnedArtifact(
        name=name if glob is not None else check_file_name(name),
        component=row.component,
        version=version,
        references=references,
        targets=(target,),
        max_size=_size(row.max_size) if row.max_size else None,
        licence=component.licence,
        is_glob=glob is not None,
        into=row.into,
        unpack=row.unpack,
        terms=row.terms,
        source=row.source or component.source,
    )


# Releases share their limits, and a size is read by exact arithmetic, which takes its time.
_size = lru_cache(maxsize=64)(ByteSize.parse)


def _glob(row: ArtifactRow, component: Component) -> str:
    glob = _fill(row.assets or "", {"pattern": component.pattern or "*"})
    if row.name is not None:
        raise ValueError("a name and a glob of assets exclude each other")
    if not glob or "/" in glob:
        raise ValueError(f"expected a glob of file names such as *.vvm, got {glob!r}")
    return glob


def _of_assets(reference: Reference, glob: str) -> Reference:
    if reference.source != "github" or reference.file != _ASSET:
        raise ValueError("expected github:owner/repo@tag/{asset} beside a glob of assets")
    return replace(reference, file=glob)


@resources.cached
def spellings(target: Target) -> Mapping[str, str]:
    """What the placeholders of references stand for, by the table of spellings."""
    table = target_table()
    platform = table.platform[str(target.platform)]
    device = table.device[target.device]
    core_os, core_arch = table.os[target.os].core, table.arch[target.arch].core
    words = {
        "core_os": core_os,
        "core_arch": core_arch,
        "core_device": official_targets()[target].core_device or device.core,
        "ort_os": table.os[target.os].onnxruntime,
        "ort_arch": platform.onnxruntime_arch or table.arch[target.arch].onnxruntime,
        "ort_device": device.onnxruntime,
        "libraries": f"{device.additional_libraries}-{core_os}-{core_arch}",
    }
    return MappingProxyType(words)


@resources.cached
def _spellings(target: str) -> Mapping[str, str]:
    return spellings(Target.parse(target))


def _fill(text: str, words: Mapping[str, str]) -> str:
    def word(match: re.Match[str]) -> str:
        if match[1] not in words:
            raise ValueError(f"unknown placeholder {match[0]}; there are {', '.join(words)}")
        return words[match[1]]

    return _PLACEHOLDER.sub(word, text)
