"""The tables that bootloaders are built and judged by."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from vvbuild.model.row import Row, Text

Source = Annotated[str, Meta(min_length=1, description="Where what the row says can be read.")]
CompilerName = Literal["zig", "gcc", "clang", "mingw", "msvc"]


class SdistRow(Row, frozen=True, kw_only=True):
    """One version of PyInstaller: its source archive."""

    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, Meta(gt=0, description="Bytes.")]
    file: Annotated[
        str | None, Meta(description="Its name, if not `pyinstaller-{version}.tar.gz`.")
    ] = None


class PatchRow(Row, frozen=True, kw_only=True):
    """A change of PyInstaller's own sources, for what a file beside them cannot do."""

    file: Annotated[str, Meta(pattern=r"^[\w.-]+\.patch$", description="In `patches/`.")]
    versions: Annotated[str, Meta(description="PyInstaller's, such as `>=6.0,<6.14`.")]
    why: Text


class BootloaderTable(Row, frozen=True, kw_only=True):
    """``manifests/bootloader.toml``."""

    schema: Literal["vvbuild.bootloader/1"]
    licence: Text
    reference: Annotated[str, Meta(description="Where every source archive is served.")]
    sdist: dict[str, SdistRow]
    patch: list[PatchRow] = []


class HintRow(Row, frozen=True, kw_only=True):
    """An exported variable by which a program asks a driver for the strong GPU."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z_]\w*$")]
    value: Annotated[int, Meta(ge=0, le=0xFFFF_FFFF)]
    vendor: Text
    affects: Annotated[str, Meta(min_length=1, description="What the vendor reads it for.")]
    source: Source


class HintTable(Row, frozen=True, kw_only=True):
    """``bootloader_extra/exports.toml``."""

    schema: Literal["vvbuild.bootloader-exports/1"]
    export: list[HintRow]
