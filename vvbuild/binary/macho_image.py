"""The skeleton of a Mach-O file: the slices of a fat file, and the load commands of each.

Layouts: Apple's ``mach-o/loader.h`` and ``mach-o/fat.h``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from vvbuild.binary.source import Malformed, Source, text

# Magic: byte order, bits.
THIN = {
    b"\xce\xfa\xed\xfe": ("<", 32),
    b"\xcf\xfa\xed\xfe": ("<", 64),
    b"\xfe\xed\xfa\xce": (">", 32),
    b"\xfe\xed\xfa\xcf": (">", 64),
}
# Fat headers are big-endian always. Magic: layout of one entry.
FAT = {b"\xca\xfe\xba\xbe": struct.Struct(">IIIII"), b"\xca\xfe\xba\xbf": struct.Struct(">IIQQII")}
# A Java class begins with the bytes of a fat file, followed by its version, 45 at the least.
MOST_SLICES = 32
ARCHIVE = b"!<arch>\n"

LC_SYMTAB, LC_DYSYMTAB, LC_ID_DYLIB = 0x2, 0xB, 0xD
LC_UUID, LC_CODE_SIGNATURE, LC_BUILD_VERSION = 0x1B, 0x1D, 0x32
LC_DYLD_INFO, LC_DYLD_INFO_ONLY, LC_DYLD_EXPORTS_TRIE = 0x22, 0x8000_0022, 0x8000_0033
LC_RPATH = 0x8000_001C
# Programs come with 20 to 60 commands in 2 to 8 KiB; Electron's framework has 15 KiB.
_MOST_COMMAND_BYTES = 4 << 20


class Command(NamedTuple):
    """One load command with its bytes, the first eight of which are its kind and size."""

    kind: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Header:
    """The file header: numbers as the file has them."""

    order: str
    bits: int
    cpu: int
    subtype: int
    kind: int
    commands: int
    command_bytes: int
    flags: int

    @property
    def size(self) -> int:
        """Its length in bytes; the load commands follow."""
        return 32 if self.bits == 64 else 28


class Image:
    """One slice of a Mach-O file, read on demand; offsets count from its start."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.header = _read_header(source)

    def layout(self, fields: str) -> struct.Struct:
        """A structure in the file's byte order."""
        return struct.Struct(self.header.order + fields)

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The load commands in the file's order."""
        head = self.header
        if head.command_bytes > _MOST_COMMAND_BYTES:
            raise Malformed(f"load commands of {head.command_bytes} bytes")
        raw = self.source.at(head.size, head.command_bytes, "the load commands")
        layout, at, found = self.layout("II"), 0, []
        for index in range(head.commands):
            if at + 8 > len(raw):
                raise Malformed(f"load command {index} of {head.commands} is outside of their room")
            kind, size = layout.unpack_from(raw, at)
            if size < 8 or at + size > len(raw):
                raise Malformed(f"load command {index} has a size of {size} bytes")
            found.append(Command(kind, raw[at : at + size]))
            at += size
        return tuple(found)

    def find(self, *kinds: int) -> Command | None:
        """The first load command of one of these kinds."""
        return next((command for command in self.commands if command.kind in kinds), None)

    def fields(self, command: Command, fields: str, what: str) -> tuple[int, ...]:
        """The numbers of a load command behind its kind and size."""
        layout = self.layout("8x" + fields)
        if len(command.data) < layout.size:
            raise Malformed(f"{what} of {len(command.data)} bytes, fewer than {layout.size}")
        return layout.unpack_from(command.data)

    def name(self, command: Command, offset: int, what: str) -> str:
        """A text inside a load command; it ends with a NUL or with the command."""
        if not 8 < offset < len(command.data):
            raise Malformed(f"{what} at {offset} of a load command of {len(command.data)} bytes")
        return text(command.data[offset:].partition(b"\0")[0])


class Slice(NamedTuple):
    """One entry of a fat file, or the whole of a thin one."""

    source: Source
    offset: int
    size: int
    cpu: int
    subtype: int


def slices(source: Source) -> Iterator[Slice]:
    """The slices of a file; a thin one is its own only slice.

    A slice may hold a static library; :func:`is_archive` tells.
    """
    magic = source.start_of(4)
    if magic in THIN:
        head = _read_header(source)
        yield Slice(source, 0, source.size, head.cpu, head.subtype)
        return
    if magic not in FAT:
        raise Malformed("it does not begin as one")
    count = int.from_bytes(source.at(4, 4, "the number of slices"), "big")
    if not 0 < count <= MOST_SLICES:
        raise Malformed(f"{count} slices")
    layout = FAT[magic]
    ends: list[tuple[int, int]] = []
    for entry in layout.iter_unpack(source.at(8, count * layout.size, "the list of slices")):
        offset, size = entry[2], entry[3]
        if offset < 8 + count * layout.size:
            raise Malformed(f"a slice at {offset:#x}, inside the list of slices")
        if any(offset < end and start < offset + size for start, end in ends):
            raise Malformed(f"a slice at {offset:#x} overlaps another")
        ends.append((offset, offset + size))
        yield Slice(source.part(offset, size), offset, size, entry[0], entry[1])


def is_archive(source: Source) -> bool:
    """Whether a slice is a static library rather than a Mach-O file."""
    return source.start_of(len(ARCHIVE)) == ARCHIVE


def _read_header(source: Source) -> Header:
    start = source.start_of(32)
    if start[:4] not in THIN:
        raise Malformed("a slice does not begin as Mach-O")
    order, bits = THIN[start[:4]]
    if len(start) < (32 if bits == 64 else 28):
        raise Malformed(f"it ends after {source.size} bytes, inside its header")
    cpu, subtype, kind, commands, size, flags = struct.unpack_from(order + "6I", start, 4)
    return Header(order, bits, cpu, subtype, kind, commands, size, flags)
