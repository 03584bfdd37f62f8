"""The skeleton of an ELF file as a loader sees it: header, segments, dynamic table, names.

Section headers are no part of it: a loader does not look at them, ``strip`` may take them
away, and a tool that edits a file may leave them wrong.
Layouts: the System V ABI, chapters 4 and 5, and ``elf.h`` of glibc.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from vvbuild.binary.source import Malformed, Source, text

MAGIC = b"\x7fELF"
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_GNU_STACK = 1, 2, 3, 4, 0x6474E551
# A name longer than this cannot be a path (PATH_MAX); mangled symbols have been seen with 6,000.
LONGEST_NAME = 1 << 16
# Real files have 20 to 90 dynamic entries, and CUDA's provider, the largest seen, 60 version
# needs. A crafted chain that points at itself would be walked four thousand million times.
MOST_ENTRIES = 10_000
# Ten thousand entries that all point at one long name would fill the memory.
_MOST_NAME_BYTES = 4 << 20
_DT_NULL = 0


class Segment(NamedTuple):
    """One program header."""

    kind: int
    flags: int
    offset: int
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class Header:
    """The file header: numbers as the file has them."""

    bits: int
    little: bool
    machine: int
    kind: int
    program_offset: int
    program_entry: int
    program_count: int
    section_offset: int
    section_entry: int
    section_count: int
    section_names: int

    @property
    def order(self) -> str:
        """The byte order as :mod:`struct` spells it."""
        return "<" if self.little else ">"


class Image:
    """An ELF file, read on demand."""

    def __init__(self, source: Source, most_name_bytes: int = _MOST_NAME_BYTES) -> None:
        """Take a file whose names may have so many bytes together, however often each is told."""
        self.source = source
        self.header = read_header(source)
        self._name_bytes_left = most_name_bytes

    @property
    def wide(self) -> bool:
        """Whether addresses have 64 bits."""
        return self.header.bits == 64

    def layout(self, fields: str) -> struct.Struct:
        """A structure in the file's byte order; ``P`` in ``fields`` is a word of its size."""
        return struct.Struct(self.header.order + fields.replace("P", "Q" if self.wide else "I"))

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The program headers."""
        head = self.header
        if not head.program_count:
            return ()
        entry = self.layout("IIPPPPPP" if self.wide else "IIIIIIII")
        if head.program_entry != entry.size:
            raise Malformed(f"program headers of {head.program_entry} bytes, not {entry.size}")
        raw = self.source.at(
            head.program_offset, head.program_count * entry.size, "the program headers"
        )
        if self.wide:
            return tuple(
                Segment(kind, flags, offset, address, size)
                for kind, flags, offset, address, _, size, _, _ in entry.iter_unpack(raw)
            )
        return tuple(
            Segment(kind, flags, offset, address, size)
            for kind, offset, address, _, size, _, flags, _ in entry.iter_unpack(raw)
        )

    def segment(self, kind: int) -> Segment | None:
        """The first segment of a kind."""
        return next((segment for segment in self.segments if segment.kind == kind), None)

    @cached_property
    def dynamic(self) -> tuple[tuple[int, int], ...]:
        """The dynamic table, tags and values, without its end mark; empty if there is none."""
        segment = self.segment(PT_DYNAMIC)
        if segment is None or not segment.size:  # a file with nothing but debug information
            return ()
        entry = self.layout("PP")
        # The loader ignores the size of the segment and reads up to the end mark.
        room = min((self.source.size - segment.offset) // entry.size, MOST_ENTRIES)
        if room <= 0:
            raise Malformed("the dynamic table lies behind the end of the file")
        raw = self.source.at(segment.offset, room * entry.size, "the dynamic table")
        found: list[tuple[int, int]] = []
        for tag, value in entry.iter_unpack(raw):
            if tag == _DT_NULL:
                return tuple(found)
            found.append((tag, value))
        raise Malformed(f"a dynamic table without an end in {room} entries")

    def tags(self, tag: int) -> list[int]:
        """Every value of one dynamic tag, in the file's order."""
        return [value for number, value in self.dynamic if number == tag]

    def tag(self, tag: int) -> int | None:
        """The value of a dynamic tag; the last one counts, as for the loader."""
        values = self.tags(tag)
        return values[-1] if values else None

    def offset_of(self, address: int, what: str) -> int:
        """Where the bytes that the loader will put at an address lie in the file."""
        for kind, _, offset, start, size in self.segments:
            if kind == PT_LOAD and start <= address < start + size:
                return address - start + offset
        raise Malformed(f"{what} at address {address:#x}, which no segment fills")

    @cached_property
    def _strings(self) -> tuple[int, int]:
        """Offset and size in bytes of the dynamic string table."""
        address, size = self.tag(5), self.tag(10)
        if address is None:
            raise Malformed("names without a string table")
        offset = self.offset_of(address, "the string table")
        # Without its size (as some editors leave it) it ends where the file does.
        return offset, self.source.size - offset if size is None else size

    def name(self, index: int) -> str:
        """A name of the dynamic string table."""
        offset, size = self._strings
        if index >= size:
            raise Malformed(f"a name at {index:#x} of a string table of {size} bytes")
        raw = self.source.string(offset + index, LONGEST_NAME, "a name")
        self._name_bytes_left -= len(raw)
        if self._name_bytes_left < 0:
            raise Malformed("names that are too long together")
        return text(raw)

    def chain(
        self, offset: int, count: int, fields: str, what: str
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Walk a linked list of version records, whose last field is the step to the next.

        Yields the offset of each and its fields.
        """
        entry = struct.Struct(self.header.order + fields)
        if count > MOST_ENTRIES:
            raise Malformed(f"{what}: {count} of them, more than {MOST_ENTRIES}")
        for index in range(count):
            values = entry.unpack(self.source.at(offset, entry.size, what))
            yield offset, values
            if not values[-1] and index + 1 < count:
                raise Malformed(f"{what}: the list ends after {index + 1} of {count}")
            offset += values[-1]


def read_header(source: Source) -> Header:
    """Read the file header, which must be one that a loader would accept."""
    start = source.start_of(64)
    if start[:4] != MAGIC:
        raise Malformed("it does not begin as one")
    if len(start) < 52:
        raise Malformed(f"it ends after {source.size} bytes, inside its header")
    if start[4] not in (1, 2) or start[5] not in (1, 2):
        raise Malformed(f"class {start[4]} and byte order {start[5]} are unknown")
    wide, order = start[4] == 2, "<" if start[5] == 1 else ">"
    layout = struct.Struct(order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH"))
    if len(start) < 16 + layout.size:
        raise Malformed(f"it ends after {source.size} bytes, inside its header")
    kind, machine, _, _, programs, sections, _, _, *counts = layout.unpack_from(start, 16)
    return Header(
        bits=64 if wide else 32,
        little=order == "<",
        machine=machine,
        kind=kind,
        program_offset=programs,
        program_entry=counts[0],
        program_count=counts[1],
        section_offset=sections,
        section_entry=counts[2],
        section_count=counts[3],
        section_names=counts[4],
    )
