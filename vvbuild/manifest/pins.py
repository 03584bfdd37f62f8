"""The artifacts that a manifest pins: its rows, filled in for each target."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from vvbuild import resources
from vvbuild.manifest.targets import official_targets, target_table
from vvbuild.model.artifact import check_file_name
from vvbuild.model.reference import Reference
from vvbuild.model.release import ArtifactRow, Release
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Target

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


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


def pin_artifacts(
    release: Release, row: ArtifactRow, *, allow_local: bool
) -> tuple[PinnedArtifact, ...]:
    """The files of one row: one for all targets that need the same.

    Raises ``ValueError`` that says what is wrong with the row.
    """
    pinned: dict[tuple[Reference, ...], PinnedArtifact] = {}
    for name in release.targets:
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in row.targets):
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
    words = {"version": version, **spellings(Target.parse(target))}
    references = tuple(
        Reference.parse(_fill(text, words), allow_local=allow_local) for text in row.references
    )
    return PinnedArtifact(
        name=check_file_name(_fill(row.name, words) if row.name else references[0].file),
        component=row.component,
        version=version,
        references=references,
        targets=(target,),
        max_size=ByteSize.parse(row.max_size) if row.max_size else None,
        licence=component.licence,
    )


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


def _fill(text: str, words: Mapping[str, str]) -> str:
    def word(match: re.Match[str]) -> str:
        if match[1] not in words:
            raise ValueError(f"unknown placeholder {match[0]}; there are {', '.join(words)}")
        return words[match[1]]

    return _PLACEHOLDER.sub(word, text)
