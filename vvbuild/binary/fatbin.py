"""Fat binaries: how CUDA's compilers pack code for several GPUs into a library.

A section is a row of containers; a container is a header and entries, an entry a header and the
code for one GPU. Only the headers are read, by hopping from one to the next. NVIDIA documents
none of this; the layout was found by comparing 58,872 cubins and 22,719 PTX texts with what they
hold, the suffixes with the output of NVIDIA's fatbinary 13.0.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Literal, NamedTuple

from vvbuild.binary.source import Malformed, Source

# Machine code, text that the driver compiles, and what only other libraries can link.
Kind = Literal["sass", "ptx", "lto"]

MAGIC = 0xBA55_ED50
CONTAINER = struct.Struct("<IHHQ")
# Kind, version, header's size, payload's size; then from byte 28 on: the architecture, the
# place of a name, and flags.
ENTRY = struct.Struct("<HHIQ12xI8xQ")
KINDS: dict[int, Kind] = {1: "ptx", 2: "sass", 8: "lto"}
SUFFIX_A, SUFFIX_F = 0x10_0000, 0x20_0000
# 64 bits, Linux, Windows, LZ4, zstd, beside LTO code, and a bit of all code for 10.0 and newer.
_OTHER_FLAGS = 0x1 | 0x10 | 0x40 | 0x2000 | 0x8000 | 0x1_0000 | 0x100_0000
_KNOWN_FLAGS = SUFFIX_A | SUFFIX_F | _OTHER_FLAGS
_VERSION, _ENTRY_VERSION = 1, 0x0101
_MOST_ENTRY_HEADER = 1 << 16
# cuFFT has 24,000 containers, cuBLASLt 5,900 entries.
_MOST_ENTRIES = 1 << 20
_MAGIC_BYTES = MAGIC.to_bytes(4, "little")
_LEAST_READ, _MOST_READ = 128, 1 << 20


class Code(NamedTuple):
    """Code for one architecture: 9.0a is ``arch`` 90 with ``suffix`` ``a``."""

    kind: Kind
    arch: int
    suffix: str = ""

    def __str__(self) -> str:
        """As NVIDIA's compilers call it: ``sm_90a``, ``compute_90``."""
        words = {"sass": "sm", "ptx": "compute", "lto": "lto"}
        return f"{words[self.kind]}_{self.arch}{self.suffix}"


class Container(NamedTuple):
    """What one container holds; ``unknown`` are entries that this reader cannot judge."""

    codes: frozenset[Code]
    unknown: int


def containers(source: Source, offset: int, size: int, *, dense: bool) -> Iterator[Container]:
    """The containers of a section.

    In a ``dense`` one they stand side by side with nothing but zeros between them, and anything
    else is a mistake. In others, which hold more than containers, they are looked for.
    """
    source.check(offset, size, "a section of GPU code")
    at, end, budget = offset, offset + size, _MOST_ENTRIES
    while (found := _next(source, at, end, dense=dense)) is not None:
        header = _container(source, found, end)
        if header is None:
            if dense:
                raise Malformed(f"the container of GPU code at {found:#x} has an unknown layout")
            at = found + 8
            continue
        start, at = header
        entries = list(_entries(source, start, at, budget))
        budget -= len(entries)
        yield Container(
            frozenset(code for code in entries if code is not None), entries.count(None)
        )


def _container(source: Source, at: int, end: int) -> tuple[int, int] | None:
    """Where the entries of the container begin and end, ``None`` if it is none that we know."""
    if at + CONTAINER.size > end:
        return None
    data = source.hop(at, CONTAINER.size, "a container of GPU code")
    magic, version, header, size = CONTAINER.unpack(data)
    if magic != MAGIC or version != _VERSION or header < CONTAINER.size:
        return None
    return (at + header, at + header + size) if at + header + size <= end else None


def _entries(source: Source, at: int, end: int, budget: int) -> Iterator[Code | None]:
    what = "an entry of GPU code"
    while at < end:
        if at + 64 > end:
            raise Malformed(f"{what} at {at:#x} ends behind its container")
        data = source.hop(at, ENTRY.size, what)
        kind, version, header, size, arch, flags = ENTRY.unpack(data)
        if not 64 <= header <= _MOST_ENTRY_HEADER or at + header + size > end:
            raise Malformed(f"{what} at {at:#x} ends behind its container")
        budget -= 1
        if budget < 0:
            raise Malformed(f"it has more than {_MOST_ENTRIES} entries of GPU code")
        known = version == _ENTRY_VERSION and kind in KINDS and not flags & ~_KNOWN_FLAGS
        both = flags & SUFFIX_A and flags & SUFFIX_F
        suffix = "a" if flags & SUFFIX_A else "f" if flags & SUFFIX_F else ""
        yield Code(KINDS[kind], arch, suffix) if known and not both else None
        at += header + size


def _next(source: Source, at: int, end: int, *, dense: bool) -> int | None:
    """Where the next container may begin; they stand at multiples of 8."""
    at, step = at + -at % 8, _LEAST_READ
    while at + CONTAINER.size <= end:
        data = source.hop(at, min(step, end - at), "a section of GPU code")
        found = _aligned_magic(data)
        if dense and any(data[: len(data) if found is None else found]):
            raise Malformed(f"something else than GPU code stands at {at:#x}, among it")
        if found is not None:
            return at + found
        at += len(data) - len(data) % 8 or 8
        step = min(2 * step, _MOST_READ)
    return None


def _aligned_magic(data: bytes) -> int | None:
    found = data.find(_MAGIC_BYTES)
    while found >= 0 and found % 8:
        found = data.find(_MAGIC_BYTES, found + 1)
    return None if found < 0 else found
