"""Telling whether a program or library has been packed with UPX.

A packed file unpacks itself when it starts: Windows refuses packed libraries that use control
flow guard, macOS kills what no longer has its signature, virus scanners are wary of all of it.
The letters ``UPX!`` somewhere in a file prove nothing (UPX itself has them, scanners, texts like
this one): they count where UPX puts them. Places and layouts: UPX's ``src/packhead.cpp`` and
``src/stub/src/include/linux.h``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from vvbuild.binary.elf_image import Image as ElfImage
from vvbuild.binary.identify import identify
from vvbuild.binary.macho_image import Image as MachOImage
from vvbuild.binary.macho_image import is_archive, slices
from vvbuild.binary.source import Malformed, Source, open_source
from vvbuild.errors import BinaryMalformedError

_MAGIC = b"UPX!"
_SECTIONS = (b"UPX0", b"UPX1", b"UPX2")
# Magic, version, format, method, level, checksums, lengths, size of the file, filter, …, checksum.
_PACK_HEADER = 32
# Formats of little-endian machines count from 1, of big-endian ones from 129. Versions: UPX 1.10
# has 10, UPX 5 has 14.
_FORMATS = frozenset((*range(1, 64), *range(129, 160)))
_VERSIONS = range(10, 32)
_TAIL = 8192
_LOADER_INFO = struct.Struct("<4x4sHBB")


@dataclass(frozen=True, slots=True)
class UpxFacts:
    """What shows that a file is packed.

    ``evidence`` has one entry for each of ``section-names``, ``loader-info`` (behind the program
    headers or load commands), ``pack-header`` (a header of UPX whose own checksum is right).
    ``format`` is the number that UPX gives to the packed format, if a pack header tells it.
    """

    evidence: tuple[str, ...]
    format: int | None


def read_upx(path: Path) -> UpxFacts | None:
    """Say how a file shows that UPX packed it; ``None`` for a file that is not packed.

    Only headers and the last 8 KiB are read. A damaged file is not packed as far as can be
    seen: what is wrong with it is for the reader of its format to say. Raises ``OSError``.
    """
    if (kind := identify(path)) is None:
        return None
    try:
        with open_source(path, "program") as source:
            evidence = {"elf": _of_elf, "pe": _of_pe, "macho": _of_macho}[kind](source)
    except BinaryMalformedError:
        return None
    if not evidence:
        return None
    numbers = [number for _, number in evidence if number]
    return UpxFacts(tuple(name for name, _ in evidence), numbers[0] if numbers else None)


_Evidence = list[tuple[str, int | None]]


def _of_elf(source: Source) -> _Evidence:
    head = ElfImage(source).header
    behind = head.program_offset + head.program_entry * head.program_count
    return _loader_info(source, behind, head.little) + _tail(source)


def _of_macho(source: Source) -> _Evidence:
    found: _Evidence = []
    for part in slices(source):
        if is_archive(part.source):
            continue
        head = MachOImage(part.source).header
        found += _loader_info(part.source, head.size + head.command_bytes, head.order == "<")
        found += _tail(part.source)
    return list(dict.fromkeys(found))


def _of_pe(source: Source) -> _Evidence:
    at = int.from_bytes(source.at(60, 4, "the place of the header"), "little")
    head = source.at(at, 24, "the header")
    count, optional = struct.unpack_from("<6xH12xH", head)
    table = at + 24 + optional
    if count > 96:  # the loader's own limit
        raise Malformed(f"{count} sections")
    sections = source.at(table, 40 * count, "the section headers")
    names = {sections[row : row + 8].rstrip(b"\0") for row in range(0, len(sections), 40)}
    found: _Evidence = []
    if len(names.intersection(_SECTIONS)) >= 2:
        found.append(("section-names", None))
    # The pack header lies between the section headers and the first section.
    starts = [
        start
        for row in range(0, len(sections), 40)
        if (start := int.from_bytes(sections[row + 20 : row + 24], "little"))
    ]
    end = min([source.size, table + 4096, *starts])
    if (behind := table + 40 * count) < end:
        room = source.at(behind, end - behind, "the room behind the section headers")
        found += _pack_headers(room)
    return found


def _loader_info(source: Source, at: int, little: bool) -> _Evidence:
    """What the unpacker in an ELF or Mach-O file finds itself by."""
    if at + _LOADER_INFO.size > source.size:
        return []
    magic, size, version, number = _LOADER_INFO.unpack(
        source.at(at, _LOADER_INFO.size, "the loader's information")
    )
    plausible = size and version and number in _FORMATS
    return [("loader-info", number if little else None)] if magic == _MAGIC and plausible else []


def _tail(source: Source) -> _Evidence:
    size = min(_TAIL, source.size)
    return _pack_headers(source.at(source.size - size, size, "the end"))


def _pack_headers(data: bytes) -> _Evidence:
    at = data.find(_MAGIC)
    while at >= 0:
        header = data[at : at + _PACK_HEADER]
        if _is_pack_header(header):
            return [("pack-header", header[5])]
        at = data.find(_MAGIC, at + 1)
    return []


def _is_pack_header(header: bytes) -> bool:
    """Since UPX 1.10 (version 10 of the header) the last byte is the sum of the others."""
    if len(header) < _PACK_HEADER:
        return False
    version, number, method, level = header[4:8]
    plausible = version in _VERSIONS and number in _FORMATS and 0 < method < 32 and level & 15
    return bool(plausible) and header[31] == sum(header[4:31]) % 251
