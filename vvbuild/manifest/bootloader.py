"""Loading the tables of the bootloader: PyInstaller's sources, our C files, what they export."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vvbuild import resources
from vvbuild.errors import ManifestError
from vvbuild.manifest.decode import decode, no_such, read_document
from vvbuild.model.artifact import Artifact
from vvbuild.model.bootloader import BootloaderTable, HintTable
from vvbuild.model.digest import Digest
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of PyInstaller's sources."""

    path: Path
    why: str


@resources.cached
def bootloader_table() -> BootloaderTable:
    """``bootloader.toml``."""
    return decode(read_document(resources.manifest_file("bootloader.toml")), BootloaderTable)


@resources.cached
def hint_table() -> HintTable:
    """``bootloader_extra/exports.toml``."""
    return decode(read_document(extra_directory() / "exports.toml"), HintTable)


def hint_values() -> dict[str, int]:
    """What a program for Windows must export: name → value of the 32-bit variable."""
    return {row.name: row.value for row in hint_table().export}


def extra_directory() -> Path:
    """Where the C files lie that are compiled into every bootloader."""
    return resources.data_root() / "bootloader_extra"


def extra_sources() -> tuple[Path, ...]:
    """Those C files, in the order of their names."""
    return tuple(sorted(extra_directory().glob("*.c")))


def newest_pyinstaller() -> str:
    """The newest version whose sources the table knows."""
    from packaging.version import Version

    return max(bootloader_table().sdist, key=Version)


def find_sdist(version: str) -> Artifact:
    """PyInstaller's source archive of a version.

    Raises :class:`ManifestError` for a version without a row.
    """
    table = bootloader_table()
    row = table.sdist.get(version)
    if row is None:
        error = ManifestError(no_such("PyInstaller", version, table.sdist))
        error.hint = "A new one is a row of manifests/bootloader.toml; docs/bootloader.md says how."
        raise error
    name = row.file or f"pyinstaller-{version}.tar.gz"
    return Artifact(
        name=name,
        component="pyinstaller",
        version=version,
        references=(
            Reference.parse(table.reference.replace("{version}", version).replace("{file}", name)),
        ),
        sha256=Digest(row.sha256),
        size=ByteSize(row.size),
        licence=table.licence,
    )


def patches_for(version: str) -> tuple[Patch, ...]:
    """The changes that a version of PyInstaller needs, in the order of the table."""
    from packaging.specifiers import SpecifierSet

    folder = resources.data_root() / "patches"
    return tuple(
        Patch(folder / row.file, row.why)
        for row in bootloader_table().patch
        if SpecifierSet(row.versions).contains(version, prereleases=True)
    )
