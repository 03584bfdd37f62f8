"""What a bundle computes with, and the oldest systems that it promises: tables of bytes."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vvbuild.model.loading import Names, Source, matches
from vvbuild.model.release import FloorKind
from vvbuild.model.row import Row, Text
from vvbuild.model.target import Os, Target, covered

FileName = Annotated[str, Meta(min_length=1, description="A file name.")]


class OnnxRuntimeFiles(Row, frozen=True, kw_only=True):
    """How ONNX Runtime's libraries are called on a system, in one of its flavours."""

    os: Os
    main: FileName
    shared: FileName
    providers: Annotated[dict[str, FileName], Meta(description="Device → its library.")]
    others: Annotated[list[FileName], Meta(description="Providers that no target is for.")]
    entry: Annotated[Text, Meta(description="What the main library exports, and no other.")]
    source: Source

    def all_names(self) -> Iterator[str]:
        """Every name, the main library's first."""
        yield from (self.main, self.shared, *self.providers.values(), *self.others)


class DirectMLFile(Row, frozen=True, kw_only=True):
    """DirectML in a bundle."""

    name: FileName
    least: Annotated[Text, Meta(description="The oldest version that any ONNX Runtime takes.")]
    source: Source


class MsvcFiles(Row, frozen=True, kw_only=True):
    """The C++ runtime of Windows."""

    names: Names
    source: Source

    def is_about(self, name: str) -> bool:
        """Whether a file of that name belongs to it."""
        return matches("win", name, self.names)


class RuntimesTable(Row, frozen=True, kw_only=True):
    """``manifests/bytes/runtimes.toml``."""

    schema: Literal["vvbuild.bytes.runtimes/1"]
    onnxruntime: list[OnnxRuntimeFiles]
    directml: DirectMLFile
    msvc: MsvcFiles

    def onnxruntime_of(self, os: Os | None, names: Container[str] = ()) -> OnnxRuntimeFiles | None:
        """The row of a system whose main library is among some files, else its first."""
        rows = [row for row in self.onnxruntime if row.os == os]
        return next((row for row in rows if row.main in names), rows[0] if rows else None)

    def exports_matter(self, os: Os | None, name: str) -> bool:
        """Whether what a file of that name exports says what it is."""
        return any(
            row.os == os and matches(row.os, name, [*row.all_names()]) for row in self.onnxruntime
        )


class FloorRow(Row, frozen=True, kw_only=True):
    """The oldest of something that some targets promise to run on."""

    targets: Annotated[list[str], Meta(min_length=1, description="Targets or globs.")]
    kind: FloorKind
    version: Text
    source: Source


class FloorsTable(Row, frozen=True, kw_only=True):
    """``manifests/bytes/floors.toml``."""

    schema: Literal["vvbuild.bytes.floors/1"]
    floor: list[FloorRow] = msgspec.field(default_factory=list)

    def of(self, target: Target, kind: FloorKind) -> FloorRow | None:
        """The promise of a target."""
        return next(
            (row for row in self.floor if row.kind == kind and covered(str(target), row.targets)),
            None,
        )
