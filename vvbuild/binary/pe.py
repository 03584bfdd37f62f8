"""Facts of PE files (EXE, DLL, pyd): what the loader of Windows will look for.

Only headers and the tables that they point at are read, by seeking: a provider of several
hundred MB costs a few milliseconds. Exports are asked for apart, in
:mod:`vvbuild.binary.pe_exports`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vvbuild.binary.pe_image import CERTIFICATES, DELAY_IMPORTS, DLL, IMPORTS, Image
from vvbuild.binary.pe_resources import Resources, read_resources
from vvbuild.binary.source import Malformed, open_source

_MACHINES = {0x14C: "x86", 0x1C0: "arm", 0x1C4: "armv7", 0x8664: "x64", 0xAA64: "arm64",
             0xA641: "arm64ec", 0xA64E: "arm64x", 0xEBC: "efi"}  # fmt: skip
_SUBSYSTEMS = {1: "native", 2: "windows", 3: "console", 7: "posix", 9: "windows-ce",
               10: "efi", 11: "efi", 12: "efi", 14: "xbox", 16: "boot"}  # fmt: skip
_IMPORT, _DELAYED = struct.Struct("<IIIII"), struct.Struct("<IIIIIIII")
# Of the first field of a delayed import: its numbers are relative to the image. Without it (as
# Visual C++ 6 wrote them) they are addresses for one place in memory.
_RELATIVE = 1
# A DLL of Windows imports from some 40 others and some thousand functions.
_MOST_LIBRARIES = 2048
_MOST_FUNCTIONS = 1 << 14
_LONG_PATHS = re.compile(
    rb"<(?:\w+:)?longPathAware\b[^>]*>\s*true\s*</(?:\w+:)?longPathAware\s*>", re.IGNORECASE
)
# WIN_CERTIFICATE: length, revision, type (2: PKCS #7, what Authenticode is).
_CERTIFICATE = struct.Struct("<IHH")
_AUTHENTICODE = 2


@dataclass(frozen=True, slots=True)
class PeImport:
    """A DLL that is needed, and what of it: names, or ``#7`` for the seventh function."""

    dll: str
    functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PeFacts:
    """What a PE file says of itself.

    ``machine`` is ``x64``, ``arm64``, Windows' word (``x86``) or PE's number; ``subsystem`` is
    ``console``, ``windows`` (without a console), another word or PE's number. ``imports`` are
    found when it is loaded, ``delay_imports`` at the first call. ``linker`` is its linker's
    version (``14.38`` of Visual Studio 2022), ``timestamp`` what stands as its time, in seconds,
    which may be a digest instead. ``file_version`` and ``product_version`` are the numbers of
    its version resource (``1.15.4.0``), ``strings`` the words there. ``manifest`` is its
    manifest resource as it stands. ``signed`` says that there is an Authenticode signature, not
    that it is good.
    """

    machine: str
    subsystem: str = "console"
    is_dll: bool = False
    bits: int = 64
    imports: tuple[PeImport, ...] = ()
    delay_imports: tuple[PeImport, ...] = ()
    linker: str = "0.0"
    os_version: str = "0.0"
    timestamp: int = 0
    checksum: int = 0
    sections: tuple[str, ...] = ()
    file_version: str | None = None
    product_version: str | None = None
    strings: dict[str, str] = field(default_factory=dict)
    manifest: bytes | None = None
    signed: bool = False

    @property
    def long_path_aware(self) -> bool:
        """Whether its manifest lets it use paths of more than 260 characters."""
        return self.manifest is not None and _LONG_PATHS.search(self.manifest) is not None


def is_pe(path: Path) -> bool:
    """Whether a regular file begins as a PE file does. A link is followed."""
    from vvbuild.binary.identify import identify

    return identify(path) == "pe"


def read_pe(path: Path) -> PeFacts:
    """Read the facts of one file.

    Raises :class:`BinaryMalformedError` for what is no PE file or contradicts itself, and
    ``OSError`` where the file cannot be read at all.
    """
    with open_source(path, "PE file") as source:
        return _facts(Image(source))


def _facts(image: Image) -> PeFacts:
    header, resources = image.header, read_resources(image) or Resources()
    return PeFacts(
        machine=_MACHINES.get(header.machine, hex(header.machine)),
        subsystem=_SUBSYSTEMS.get(header.subsystem, str(header.subsystem)),
        is_dll=bool(header.flags & DLL),
        bits=header.bits,
        imports=tuple(_imports(image)),
        delay_imports=tuple(_delayed(image)),
        linker="{}.{}".format(*header.linker),
        os_version="{}.{}".format(*header.os_version),
        timestamp=header.timestamp,
        checksum=header.checksum,
        sections=tuple(section.name for section in image.sections),
        file_version=resources.file_version,
        product_version=resources.product_version,
        strings=resources.strings,
        manifest=resources.manifest,
        signed=_is_signed(image),
    )


def _imports(image: Image) -> Iterator[PeImport]:
    for lookup, _, _, name, first in _rows(image, IMPORTS, _IMPORT, "the import table"):
        if name == 0:
            return
        dll = image.name(name, "the name of an imported DLL")
        yield PeImport(dll, tuple(_functions(image, lookup or first)))


def _delayed(image: Image) -> Iterator[PeImport]:
    what = "the table of delayed imports"
    for flags, name, _, _, lookup, *_ in _rows(image, DELAY_IMPORTS, _DELAYED, what):
        if name == 0:
            return
        if not flags & _RELATIVE:
            raise Malformed(f"{what} has addresses of the time before Visual C++ 7")
        dll = image.name(name, "the name of an imported DLL")
        yield PeImport(dll, tuple(_functions(image, lookup)))


def _rows(image: Image, number: int, row: struct.Struct, what: str) -> Iterator[tuple[int, ...]]:
    directory = image.directory(number)
    if directory is None:
        return
    for count in range(_MOST_LIBRARIES):
        yield row.unpack(image.at(directory[0] + count * row.size, row.size, what))
    raise Malformed(f"{what} has more than {_MOST_LIBRARIES} rows")


def _functions(image: Image, address: int) -> Iterator[str]:
    """What a lookup table names, up to its row of zeros."""
    size = image.header.bits // 8
    by_number = 1 << (image.header.bits - 1)
    what = "a table of imported functions"
    for count in range(_MOST_FUNCTIONS):
        value = int.from_bytes(image.at(address + count * size, size, what), "little")
        if value == 0:
            return
        if value & by_number:
            yield f"#{value & 0xFFFF}"
        else:
            # Two bytes before the name are a hint where to look for it.
            yield image.name((value & 0x7FFF_FFFF) + 2, "the name of an imported function")
    raise Malformed(f"{what} has more than {_MOST_FUNCTIONS} rows")


def _is_signed(image: Image) -> bool:
    # This directory, alone of all, has an offset in the file and not an address.
    found = image.directory(CERTIFICATES)
    if found is None:
        return False
    offset, size = found
    image.source.check(offset, size, "the signature")
    if size < _CERTIFICATE.size:
        raise Malformed(f"its signature has {size} bytes")
    length, _, kind = _CERTIFICATE.unpack(
        image.source.at(offset, _CERTIFICATE.size, "the signature")
    )
    return bool(kind == _AUTHENTICODE and _CERTIFICATE.size < length <= size)
