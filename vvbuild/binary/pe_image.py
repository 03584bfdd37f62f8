"""The skeleton of a PE file: headers, sections, and where an address lies in the file.

Layouts: Microsoft's *PE Format* (learn.microsoft.com/windows/win32/debug/pe-format).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

from vvbuild.binary.source import Malformed, Source, text

EXPORTS, IMPORTS, RESOURCES, CERTIFICATES, DELAY_IMPORTS = 0, 1, 2, 4, 13
DLL = 0x2000

_PE32, _PE32_PLUS = 0x10B, 0x20B
_COFF = struct.Struct("<HHIIIHH")
# From the linker's version to the size of the headers, the system's versions between them.
_OPTIONAL = struct.Struct("<HBB12xI")
_SECTION = struct.Struct("<8sIIII12xI")
_MOST_DIRECTORIES = 16
# The loader's own limit.
_MOST_SECTIONS = 96
_LONGEST_NAME = 4096


@dataclass(frozen=True, slots=True)
class Section:
    """A section: where it lies in memory (relative to the image) and in the file."""

    name: str
    address: int
    memory_size: int
    offset: int
    size: int
    flags: int


@dataclass(frozen=True, slots=True)
class Header:
    """The headers' numbers, as the file has them."""

    machine: int
    timestamp: int
    flags: int
    bits: int
    linker: tuple[int, int]
    os_version: tuple[int, int]
    subsystem: int
    dll_flags: int
    checksum: int
    size: int
    directories: tuple[tuple[int, int], ...]


class Image:
    """A PE file, read on demand."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._at = _header_offset(source)
        self.header, self._table, self._count = self._read_header()

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The section table."""
        table = self.source.at(self._table, _SECTION.size * self._count, "the section headers")
        return tuple(
            Section(text(name.rstrip(b"\0")), address, memory, offset, size, flags)
            for name, memory, address, size, offset, flags in _SECTION.iter_unpack(table)
        )

    def directory(self, number: int) -> tuple[int, int] | None:
        """Address and size of a data directory, ``None`` if the file has none of that kind."""
        found = self.header.directories
        if number >= len(found) or found[number][0] == 0:
            return None
        return found[number]

    def place(self, address: int, what: str) -> tuple[int, int]:
        """Where an address lies in the file, and how many bytes of its section follow there.

        The count is 0 for memory that the file does not fill.
        """
        if address < self.header.size:
            return address, min(self.header.size, self.source.size) - address
        for section in self.sections:
            inside = address - section.address
            if 0 <= inside < max(section.memory_size, section.size):
                return section.offset + inside, max(0, section.size - inside)
        raise Malformed(f"{what} at address {address:#x} is in no section")

    def at(self, address: int, size: int, what: str) -> bytes:
        """Exactly ``size`` bytes of memory, zeros where the file does not fill it."""
        offset, filled = self.place(address, what)
        if filled >= size:
            return self.source.at(offset, size, what)
        return self.source.at(offset, filled, what).ljust(size, b"\0") if filled else bytes(size)

    def name(self, address: int, what: str) -> str:
        """The NUL-terminated name at an address."""
        offset, filled = self.place(address, what)
        return text(self.source.string(offset, min(filled, _LONGEST_NAME), what))

    def _read_header(self) -> tuple[Header, int, int]:
        coff = self.source.at(self._at + 4, _COFF.size, "the header")
        machine, count, timestamp, _, _, size, flags = _COFF.unpack(coff)
        if count > _MOST_SECTIONS:
            raise Malformed(f"it has {count} sections, and Windows takes {_MOST_SECTIONS}")
        start = self._at + 4 + _COFF.size
        optional = self.source.at(start, size, "the optional header")
        magic = int.from_bytes(optional[:2], "little")
        if magic not in (_PE32, _PE32_PLUS):
            raise Malformed(f"its optional header begins with {magic:#x}")
        bits = 64 if magic == _PE32_PLUS else 32
        fixed = 112 if bits == 64 else 96
        if size < fixed:
            raise Malformed(f"its optional header has {size} bytes")
        _, major, minor, _ = _OPTIONAL.unpack_from(optional)
        os_major, os_minor = struct.unpack_from("<HH", optional, 48)
        header_size, checksum, subsystem, dll_flags = struct.unpack_from("<IIHH", optional, 60)
        told = int.from_bytes(optional[fixed - 4 : fixed], "little")
        number = min(told, _MOST_DIRECTORIES, (size - fixed) // 8)
        directories = tuple(struct.iter_unpack("<II", optional[fixed : fixed + 8 * number]))
        header = Header(
            machine, timestamp, flags, bits, (major, minor), (os_major, os_minor), subsystem,
            dll_flags, checksum, header_size, directories,
        )  # fmt: skip
        return header, start + size, count


def _header_offset(source: Source) -> int:
    if source.at(0, 2, "the start") != b"MZ":
        raise Malformed("it does not begin with MZ")
    at = int.from_bytes(source.at(60, 4, "the place of the header"), "little")
    if source.at(at, 4, "the header") != b"PE\0\0":
        raise Malformed(f"there is no PE header at {at:#x}")
    return at
