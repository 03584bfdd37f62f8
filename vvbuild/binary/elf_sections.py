"""Sections of ELF files: what linkers and debuggers know, and the loader does not look at.

A file may have none, or wrong ones; then there is nothing to find here, and only here.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from vvbuild.binary.elf_image import PT_LOAD, Image
from vvbuild.binary.source import Malformed, Source, open_source, text
from vvbuild.model.digest import Digest

_SHT_NULL, _SHT_NOBITS = 0, 8
_PF_X, _PF_W = 1, 2
_LONGEST_SECTION_NAME = 1 << 12
# What has been linked has a hundred or so.
_MOST_SECTIONS = 1 << 16
_LIBRARY_END = re.compile(rb"(\.so(?:\.[0-9]{1,9}){0,4})\0")
_NAME_BYTES = (string.ascii_letters + string.digits + "_.+-").encode()
_LONGEST_STEM = 200
_MOST_TEXT_BYTES = 256 << 20


class Section(NamedTuple):
    """One section: where its bytes lie; ``size`` is 0 for one without bytes (``.bss``)."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    entry: int


def read_sections(path: Path) -> tuple[Section, ...]:
    """The section headers of a file, in its order; none if it has been stripped of them.

    Raises :class:`BinaryMalformedError` where the headers make no sense. That a section's
    content lies inside the file is for those to check who read it.
    """
    with open_source(path, "ELF file") as source:
        return tuple(sections_of(Image(source)))


def section_digest(path: Path, name: str) -> Digest:
    """The SHA-256 of the bytes of one section, such as ``.text``; memory stays flat.

    Raises :class:`BinaryMalformedError` where there is no such section, too.
    """
    with open_source(path, "ELF file") as source:
        section = next((one for one in sections_of(Image(source)) if one.name == name), None)
        if section is None:
            raise Malformed(f"there is no section {name}")
        digest = hashlib.sha256()
        for chunk in source.chunks(section.offset, section.size, f"section {name}"):
            digest.update(chunk)
    return Digest(digest.hexdigest())


def library_names(path: Path) -> tuple[str, ...]:
    """Names of libraries (``libcudnn.so.9``) among the constant strings of a file, sorted.

    What a program opens at run time is often among them, but so is much that it never opens;
    and a compiler may have put a short name into the code, where it is not seen. Read are
    ``.rodata`` and its like; without sections the segments that are not code, of which at most
    256 MiB.
    """
    found: set[bytes] = set()
    with open_source(path, "ELF file") as source:
        for offset, size in _constant_ranges(Image(source)):
            found |= _names_in(source, offset, size)
    return tuple(sorted(text(name) for name in found))


def sections_of(image: Image) -> Iterator[Section]:
    """The sections of an open file."""
    head = image.header
    if not head.section_offset:
        return
    entry = image.layout("IIPPPPIIPP")
    if head.section_entry != entry.size:
        raise Malformed(f"section headers of {head.section_entry} bytes, not {entry.size}")
    first = entry.unpack(image.source.at(head.section_offset, entry.size, "section header 0"))
    # Numbers that do not fit into the file header stand in the first section header.
    count = head.section_count or first[5]
    names = first[6] if head.section_names == 0xFFFF else head.section_names
    if not count:
        return
    if count > _MOST_SECTIONS:
        raise Malformed(f"{count} sections, more than {_MOST_SECTIONS}")
    rows = list(
        entry.iter_unpack(
            image.source.at(head.section_offset, count * entry.size, "the section headers")
        )
    )
    if names >= count:
        raise Malformed(f"the names of sections in section {names} of {count}")
    table, room = rows[names][4], rows[names][5]
    for index, kind, flags, address, offset, size, link, _, _, step in rows:
        if kind == _SHT_NULL:
            continue
        if index >= room:
            raise Malformed(f"a section's name at {index:#x} of a table of {room} bytes")
        name = text(image.source.string(table + index, _LONGEST_SECTION_NAME, "a section's name"))
        length = 0 if kind == _SHT_NOBITS else size
        yield Section(name, kind, flags, address, 0 if not length else offset, length, link, step)


def _constant_ranges(image: Image) -> list[tuple[int, int]]:
    sections = list(sections_of(image))
    if sections:
        return [
            (one.offset, one.size)
            for one in sections
            if one.name.startswith((".rodata", ".lrodata")) and one.size
        ]
    ranges, left = [], _MOST_TEXT_BYTES
    for segment in image.segments:
        if segment.kind == PT_LOAD and not segment.flags & (_PF_X | _PF_W):
            size = min(segment.size, left)
            left -= size
            ranges.append((segment.offset, size))
    return ranges


def _names_in(source: Source, offset: int, size: int) -> set[bytes]:
    found: set[bytes] = set()
    tail = b""
    for chunk in source.chunks(offset, size, "constants"):
        data = tail + chunk
        for match in _LIBRARY_END.finditer(data):
            before = data[max(0, match.start() - _LONGEST_STEM) : match.start()]
            if stem := before[len(before.rstrip(_NAME_BYTES)) :]:
                found.add(stem + match[1])
        tail = data[-2 * _LONGEST_STEM :]
    return found
