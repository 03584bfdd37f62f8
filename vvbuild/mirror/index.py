"""What lies in a mirror: its index, and the places of its files.

Layout: ``vvbuild-mirror.json``, ``files/ab/<sha256>`` and ``manifests/``, which ``--manifests``
takes. The index holds no time, path or name of
a machine: the same releases give the same index.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vvbuild.errors import MirrorError
from vvbuild.manifest.decode import decode, read_document
from vvbuild.model.artifact import check_file_name
from vvbuild.model.digest import Digest
from vvbuild.model.row import Row, Text
from vvbuild.runtime.files import write_atomically

FILE_NAME = "vvbuild-mirror.json"
_SCHEMA: Literal["vvbuild.mirror/1"] = "vvbuild.mirror/1"


class MirrorRelease(Row, frozen=True, kw_only=True):
    """A release that can be built from the mirror."""

    name: Annotated[Text, Meta(description="The release.")]
    pins_sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="State of its pins.")]
    targets: Annotated[list[str], Meta(min_length=1, description="Targets whose files are here.")]


class MirrorFile(Row, frozen=True, kw_only=True):
    """A file of the mirror."""

    name: Annotated[Text, Meta(description="What it is called where it came from.")]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="Its bytes.")]
    size: Annotated[int, Meta(ge=0, description="Its size in bytes.")]
    component: Annotated[str, Meta(description="What it is a file of.")] = ""
    version: Annotated[str, Meta(description="The component's.")] = ""
    licence: Annotated[str, Meta(description="As the lock tells it.")] = ""


class MirrorManifest(Row, frozen=True, kw_only=True):
    """A manifest, a lock or a table, below ``manifests/``, as it was when it was exported."""

    path: Annotated[str, Meta(pattern=r"^[\w.-]+(/[\w.-]+)*$")]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="Its bytes.")]


class MirrorIndex(Row, frozen=True, kw_only=True):
    """``vvbuild-mirror.json``."""

    schema: Literal["vvbuild.mirror/1"]
    releases: list[MirrorRelease]
    files: list[MirrorFile]
    manifests: list[MirrorManifest] = msgspec.field(default_factory=list)


def empty_index() -> MirrorIndex:
    """A mirror without anything."""
    return MirrorIndex(schema=_SCHEMA, releases=[], files=[])


def read_index(directory: Path) -> MirrorIndex:
    """The index of a mirror.

    Raises :class:`MirrorError` for a directory that has none, and for one that is malformed or
    names a file twice.
    """
    document = read_document(directory / FILE_NAME, MirrorError)
    index = decode(document, MirrorIndex, MirrorError)
    seen: set[str] = set()
    for place, file in enumerate(index.files):
        try:
            check_file_name(file.name)
        except ValueError as error:
            raise document.error([(("files", place, "name"), str(error))], MirrorError) from None
        if file.sha256 in seen:
            raise document.error([(("files", place), "stands twice")], MirrorError)
        seen.add(file.sha256)
    return index


def write_index(directory: Path, index: MirrorIndex) -> None:
    """Put an index in its place in one move."""
    text = json.dumps(msgspec.to_builtins(index), indent=1, ensure_ascii=False)
    write_atomically(directory / FILE_NAME, f"{text}\n".encode())


def joined(
    index: MirrorIndex,
    releases: Iterable[MirrorRelease],
    files: Iterable[MirrorFile],
    manifests: Iterable[MirrorManifest] = (),
) -> MirrorIndex:
    """An index with more in it; of a release that is there already the targets are joined."""
    known = {(each.name, each.pins_sha256): set(each.targets) for each in index.releases}
    for each in releases:
        known.setdefault((each.name, each.pins_sha256), set()).update(each.targets)
    by_path = {each.path: each for each in (*index.manifests, *manifests)}
    by_digest = {file.sha256: file for file in (*files, *index.files)}
    return MirrorIndex(
        schema=_SCHEMA,
        releases=[
            MirrorRelease(name=name, pins_sha256=pins, targets=sorted(targets))
            for (name, pins), targets in sorted(known.items())
        ],
        files=[by_digest[digest] for digest in sorted(by_digest)],
        manifests=[by_path[path] for path in sorted(by_path)],
    )


def place_of(directory: Path, digest: Digest) -> Path:
    """Where a file of the mirror lies; made from its digest alone, never from a name."""
    return directory / "files" / digest.hex[:2] / digest.hex
