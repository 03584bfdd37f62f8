"""Facts of Mach-O files, thin and fat: what dyld will look for, and the macOS it needs.

Only headers and load commands are read, by seeking. What costs more is asked for apart: the
page hashes of signatures in :mod:`vvbuild.binary.macho_signature`, symbols in
:mod:`vvbuild.binary.macho_symbols`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vvbuild.binary.macho_image import (
    FAT,
    LC_BUILD_VERSION,
    LC_CODE_SIGNATURE,
    LC_ID_DYLIB,
    LC_RPATH,
    LC_UUID,
    MOST_SLICES,
    THIN,
    Command,
    Image,
    Slice,
    is_archive,
    slices,
)
from vvbuild.binary.macho_signature import MachOSignature, read_signature
from vvbuild.binary.source import Malformed, first_bytes, open_source

_CPUS = {
    7: "x86", 0x0100_0007: "x64", 12: "arm", 0x0100_000C: "arm64", 0x0200_000C: "arm64_32",
    18: "ppc", 0x0100_0012: "ppc64",
}  # fmt: skip
_KINDS = {
    1: "object", 2: "execute", 4: "core", 6: "dylib", 7: "dylinker", 8: "bundle",
    9: "dylib_stub", 10: "dsym", 11: "kext_bundle", 12: "fileset",
}  # fmt: skip
_PLATFORMS = {
    1: "macos", 2: "ios", 3: "tvos", 4: "watchos", 5: "bridgeos", 6: "maccatalyst",
    7: "iossimulator", 8: "tvossimulator", 9: "watchossimulator", 10: "driverkit",
    11: "visionos", 12: "visionossimulator",
}  # fmt: skip
# What tools wrote before macOS 10.14: one command a platform.
_VERSION_MIN = {0x24: "macos", 0x25: "ios", 0x2F: "tvos", 0x30: "watchos"}
_DEPENDENCIES = {
    0xC: "load", 0x8000_0018: "weak", 0x8000_001F: "reexport", 0x20: "lazy",
    0x8000_0023: "upward",
}  # fmt: skip
# Since macOS 15 one command says it all by flags, marked by a time stamp that nothing else has.
_USE_MARK, _USE_FLAGS = 0x1A74_1800, {1: "weak", 2: "reexport", 4: "upward", 8: "lazy"}
_ARM64E, _MH_PIE = 2, 0x20_0000


@dataclass(frozen=True, slots=True)
class MachODependency:
    """A library that dyld looks for.

    ``kind`` is ``load`` (must be there), ``weak`` (may be missing), ``reexport``, ``upward`` or
    ``lazy``. ``compatible`` is the lowest version that serves, by the library's own counting.
    """

    name: str
    kind: str
    current: str
    compatible: str


@dataclass(frozen=True, slots=True)
class MachOBuild:
    """A platform (``macos``) that a slice is for, and the lowest version of its OS."""

    platform: str
    minimum_os: str
    sdk: str | None


@dataclass(frozen=True, slots=True)
class MachOSlice:
    """What one architecture's part of a file says of itself.

    ``machine`` is ``x64``, ``arm64``, Apple's name (``arm64e``, ``x86``) or a number; ``kind``
    is Apple's word (``execute``, ``dylib``, ``bundle``), a number, or ``archive`` for a static
    library, of which no more is told. ``offset`` and ``size`` are the slice's place in the file,
    in bytes. ``trailing_bytes`` lie behind the signature, where no strict check allows any.
    """

    machine: str
    kind: str
    offset: int
    size: int
    install_name: str | None = None
    version: str | None = None
    compatibility_version: str | None = None
    dependencies: tuple[MachODependency, ...] = ()
    rpaths: tuple[str, ...] = ()
    builds: tuple[MachOBuild, ...] = ()
    uuid: str | None = None
    signature: MachOSignature | None = None
    trailing_bytes: int = 0
    pie: bool = False

    @property
    def minimum_macos(self) -> str | None:
        """The lowest macOS that loads it, or ``None`` if it does not say."""
        return next((one.minimum_os for one in self.builds if one.platform == "macos"), None)


@dataclass(frozen=True, slots=True)
class MachOFacts:
    """A Mach-O file: its slices in the file's order; a thin file has one."""

    fat: bool
    slices: tuple[MachOSlice, ...]

    @property
    def machines(self) -> tuple[str, ...]:
        """The architectures that it can run on, in the file's order."""
        return tuple(one.machine for one in self.slices)

    def slice_for(self, machine: str) -> MachOSlice | None:
        """The slice of an architecture (``x64``, ``arm64``)."""
        return next((one for one in self.slices if one.machine == machine), None)


def is_macho(path: Path) -> bool:
    """Tell whether a regular file begins as a Mach-O file does, thin or fat."""
    return starts_as_macho(first_bytes(path, 8))


def starts_as_macho(start: bytes) -> bool:
    """The same for the first eight bytes of a file."""
    if start[:4] in THIN:
        return True
    return start[:4] in FAT and 0 < int.from_bytes(start[4:8], "big") <= MOST_SLICES


def read_macho(path: Path) -> MachOFacts:
    """Read the facts of one file.

    Raises :class:`BinaryMalformedError` for what is no Mach-O file or contradicts itself, and
    ``OSError`` where the file cannot be read at all. A signature that makes no sense is told of
    in its ``problem``: the file has its other facts all the same.
    """
    with open_source(path, "Mach-O file") as source:
        fat = source.start_of(4) in FAT
        return MachOFacts(fat, tuple(_slice(part) for part in slices(source)))


def _slice(part: Slice) -> MachOSlice:
    if is_archive(part.source):
        return MachOSlice(_machine(part.cpu, part.subtype), "archive", part.offset, part.size)
    image = Image(part.source)
    if image.header.cpu != part.cpu:
        raise Malformed(f"the slice at {part.offset:#x} is for another processor than is said")
    name, current, compatible = _identity(image)
    uuid = image.find(LC_UUID)
    signature = image.find(LC_CODE_SIGNATURE)
    end = sum(image.fields(signature, "II", "a signature's place")) if signature else part.size
    return MachOSlice(
        machine=_machine(part.cpu, image.header.subtype),
        kind=_KINDS.get(image.header.kind, str(image.header.kind)),
        offset=part.offset,
        size=part.size,
        install_name=name,
        version=current,
        compatibility_version=compatible,
        dependencies=tuple(_dependencies(image)),
        rpaths=tuple(_rpaths(image)),
        builds=tuple(_builds(image)),
        uuid=None if uuid is None else uuid.data[8:24].hex(),
        signature=read_signature(image),
        trailing_bytes=max(0, part.size - end),
        pie=bool(image.header.flags & _MH_PIE),
    )


def _machine(cpu: int, subtype: int) -> str:
    name = _CPUS.get(cpu, str(cpu))
    return "arm64e" if name == "arm64" and subtype & 0xFF == _ARM64E else name


def _identity(image: Image) -> tuple[str | None, str | None, str | None]:
    command = image.find(LC_ID_DYLIB)
    if command is None:
        return None, None, None
    name, _, current, compatible = image.fields(command, "IIII", "a library's name")
    return image.name(command, name, "a name"), _version(current), _version(compatible)


def _dependencies(image: Image) -> Iterator[MachODependency]:
    for command in image.commands:
        if kind := _DEPENDENCIES.get(command.kind):
            name, mark, current, compatible = image.fields(command, "IIII", "a dependency")
            if mark == _USE_MARK and name >= 28:
                kind = _kind_by_flags(image, command) or kind
            text = image.name(command, name, "a dependency's name")
            yield MachODependency(text, kind, _version(current), _version(compatible))


def _kind_by_flags(image: Image, command: Command) -> str | None:
    flags = image.fields(command, "16xI", "a dependency with flags")[0]
    return next((word for bit, word in _USE_FLAGS.items() if flags & bit), None)


def _rpaths(image: Image) -> Iterator[str]:
    for command in image.commands:
        if command.kind == LC_RPATH:
            yield image.name(command, image.fields(command, "I", "an rpath")[0], "an rpath")


def _builds(image: Image) -> Iterator[MachOBuild]:
    for command in image.commands:
        if command.kind == LC_BUILD_VERSION:
            platform, lowest, sdk, _ = image.fields(command, "IIII", "a build version")
            name = _PLATFORMS.get(platform, str(platform))
        elif command.kind in _VERSION_MIN:
            lowest, sdk = image.fields(command, "II", "a lowest version")
            name = _VERSION_MIN[command.kind]
        else:
            continue
        yield MachOBuild(name, _version(lowest), _version(sdk) if sdk else None)


def _version(packed: int) -> str:
    """``13.4`` or ``13.4.1``: sixteen bits, eight and eight."""
    major, minor, patch = packed >> 16, packed >> 8 & 0xFF, packed & 0xFF
    return f"{major}.{minor}" + (f".{patch}" if patch else "")
