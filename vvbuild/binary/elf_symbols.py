"""Symbols of ELF files: what a library asks others for, and what it gives.

They are read as the loader finds them, by the dynamic table, so that a stripped file has them,
too. CUDA's provider has some thousand, a C++ library 50,000: they are read on demand.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vvbuild.binary.elf_image import Image
from vvbuild.binary.source import Malformed, open_source

_DT_HASH, _DT_SYMTAB, _DT_RELA, _DT_RELASZ, _DT_REL, _DT_RELSZ = 4, 6, 7, 8, 17, 18
_DT_PLTRELSZ, _DT_PLTREL, _DT_JMPREL, _DT_GNU_HASH = 2, 20, 23, 0x6FFFFEF5
_DT_VERSYM, _DT_VERDEF, _DT_VERDEFNUM = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFD
_DT_VERNEED, _DT_VERNEEDNUM = 0x6FFFFFFE, 0x6FFFFFFF
_STB_GLOBAL, _STB_WEAK, _STB_GNU_UNIQUE = 1, 2, 10
_STV_DEFAULT, _STV_PROTECTED, _SHN_UNDEF, _SHN_ABS = 0, 3, 0, 0xFFF1
_HIDDEN, _VER_FLG_BASE = 0x8000, 1
# libtorch_cpu.so, the largest seen, has 150,000 with 20 MB of names.
_MOST_SYMBOLS = 1 << 21
_MOST_NAME_BYTES = 128 << 20
_MOST_RELOCATION_BYTES = 1 << 30
_STEP = 24 * 8192  # a whole number of entries of every size that there is


@dataclass(frozen=True, slots=True)
class ElfSymbol:
    """A name, with the version and, for a needed one, the library that the version is of.

    A ``weak`` needed one may be missing. ``hidden`` is a given one that only those find who
    ask for its version (``memcpy@GLIBC_2.2.5`` beside ``memcpy@@GLIBC_2.14``).
    """

    name: str
    version: str | None = None
    library: str | None = None
    weak: bool = False
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class ElfSymbols:
    """What a file asks for and what it gives, each in the file's order."""

    undefined: tuple[ElfSymbol, ...]
    exported: tuple[ElfSymbol, ...]

    @property
    def exported_names(self) -> frozenset[str]:
        """The names alone."""
        return frozenset(symbol.name for symbol in self.exported)

    @property
    def undefined_names(self) -> frozenset[str]:
        """The names alone, weak ones too."""
        return frozenset(symbol.name for symbol in self.undefined)


def read_symbols(path: Path) -> ElfSymbols:
    """Read the dynamic symbols of one file.

    Raises :class:`BinaryMalformedError` for a damaged table, ``OSError`` where the file cannot
    be read.
    """
    with open_source(path, "ELF file") as source:
        undefined: list[ElfSymbol] = []
        exported: list[ElfSymbol] = []
        for symbol, is_defined in _symbols(Image(source, _MOST_NAME_BYTES)):
            (exported if is_defined else undefined).append(symbol)
    return ElfSymbols(tuple(undefined), tuple(exported))


def _symbols(image: Image) -> Iterator[tuple[ElfSymbol, bool]]:
    table = image.tag(_DT_SYMTAB)
    count = 0 if table is None else _count(image)
    if table is None or not count:
        return
    entry = image.layout("IBBHQQ" if image.wide else "IIIBBH")
    rows = _rows(image, image.offset_of(table, "the symbols"), count, entry, "the symbols")
    versions = _versions_of(image, count)
    names = _version_names(image) if versions is not None else {}
    next(rows, None)  # the first stands for no symbol
    for row in rows:
        name, info, other, section = row[:4] if image.wide else (row[0], row[3], row[4], row[5])
        mark = next(versions, (0,))[0] if versions is not None else 0
        if symbol := _symbol(image, (name, info, other, section), mark, names):
            yield symbol, section != _SHN_UNDEF


def _symbol(
    image: Image,
    row: tuple[int, int, int, int],
    mark: int,
    names: dict[int, tuple[str, str | None]],
) -> ElfSymbol | None:
    name, info, other, section = row
    if info >> 4 not in (_STB_GLOBAL, _STB_WEAK, _STB_GNU_UNIQUE) or not name:
        return None
    if section != _SHN_UNDEF and other & 3 not in (_STV_DEFAULT, _STV_PROTECTED):
        return None
    version, library = names.get(mark & ~_HIDDEN, (None, None))
    text = image.name(name)
    if section == _SHN_ABS and text == version:  # the linker's mark that there is this version
        return None
    hidden = section != _SHN_UNDEF and bool(mark & _HIDDEN)
    return ElfSymbol(text, version, library, info >> 4 == _STB_WEAK, hidden)


def _rows(
    image: Image, offset: int, count: int, entry: struct.Struct, what: str
) -> Iterator[tuple[int, ...]]:
    step = _STEP // entry.size * entry.size
    for chunk in image.source.chunks(offset, count * entry.size, what, step):
        yield from entry.iter_unpack(chunk)


def _count(image: Image) -> int:
    """How many symbols there are, which nothing in the dynamic table says outright."""
    if (address := image.tag(_DT_HASH)) is not None and _plain_hash(image):
        offset = image.offset_of(address, "the hash table")
        count = int(image.layout("II").unpack(image.source.at(offset, 8, "the hash table"))[1])
    elif (address := image.tag(_DT_GNU_HASH)) is not None:
        count = _count_of_gnu_hash(image, image.offset_of(address, "the hash table"))
    else:
        count = 0
    # A table for finding symbols does not tell of those that cannot be found: a program that
    # gives none has an empty one, however many it asks for. Relocations name these.
    count = count or _count_by_relocations(image)
    if count > _MOST_SYMBOLS:
        raise Malformed(f"{count} symbols, more than {_MOST_SYMBOLS}")
    return count


def _plain_hash(image: Image) -> bool:
    """Alpha and s390x have hash tables of 64-bit words; their files are read by the other way."""
    return not (image.wide and image.header.machine in (22, 0x9026))


def _count_of_gnu_hash(image: Image, offset: int) -> int:
    head = image.layout("IIII")
    buckets, first, blooms, _ = head.unpack(image.source.at(offset, 16, "the hash table"))
    start = offset + 16 + blooms * (image.header.bits // 8)
    word = image.layout("I")
    if buckets > _MOST_SYMBOLS:
        raise Malformed(f"a hash table of {buckets} buckets")
    last = max((row[0] for row in _rows(image, start, buckets, word, "the buckets")), default=0)
    if last < first or not last:
        return 0
    chain = start + 4 * buckets
    # The last symbol is the one at the end of the chain that begins last.
    while not word.unpack(image.source.at(chain + 4 * (last - first), 4, "a hash chain"))[0] & 1:
        last += 1
        if last > _MOST_SYMBOLS:
            raise Malformed("a hash chain without an end")
    return int(last) + 1


def _count_by_relocations(image: Image) -> int:
    highest = -1
    for address, size, with_addend in _relocation_tables(image):
        fields = (
            ("PPP" if with_addend else "PP") if image.wide else ("III" if with_addend else "II")
        )
        entry = image.layout(fields)
        offset = image.offset_of(address, "the relocations")
        if size > _MOST_RELOCATION_BYTES:
            raise Malformed(f"relocations of {size} bytes")
        shift = 32 if image.wide else 8
        rows = _rows(image, offset, size // entry.size, entry, "the relocations")
        highest = max(highest, max((row[1] >> shift for row in rows), default=-1))
    return highest + 1


def _relocation_tables(image: Image) -> Iterator[tuple[int, int, bool]]:
    for start, size, with_addend in (
        (_DT_RELA, _DT_RELASZ, True),
        (_DT_REL, _DT_RELSZ, False),
        (_DT_JMPREL, _DT_PLTRELSZ, image.tag(_DT_PLTREL) == _DT_RELA),
    ):
        address, length = image.tag(start), image.tag(size)
        if address is not None and length:
            yield address, length, with_addend


def _versions_of(image: Image, count: int) -> Iterator[tuple[int, ...]] | None:
    """The version mark of each symbol, from the second on."""
    address = image.tag(_DT_VERSYM)
    if address is None:
        return None
    offset = image.offset_of(address, "the versions of the symbols")
    return _rows(image, offset + 2, count - 1, image.layout("H"), "the versions of the symbols")


def _version_names(image: Image) -> dict[int, tuple[str, str | None]]:
    """What each mark stands for: a version and, for a needed one, its library."""
    found: dict[int, tuple[str, str | None]] = {}
    address, count = image.tag(_DT_VERDEF), image.tag(_DT_VERDEFNUM)
    if address is not None and count:
        offset = image.offset_of(address, "the version definitions")
        for at, row in image.chain(offset, count, "HHHHIII", "version definitions"):
            if row[1] & _VER_FLG_BASE:  # the library's name: its symbols have no version
                continue
            for _, names in image.chain(at + row[5], 1, "II", "the name of a version"):
                found[row[2]] = image.name(names[0]), None
    address, count = image.tag(_DT_VERNEED), image.tag(_DT_VERNEEDNUM)
    if address is not None and count:
        offset = image.offset_of(address, "the version needs")
        for at, (_, versions, name, first, _) in image.chain(
            offset, count, "HHIII", "version needs"
        ):
            library = image.name(name)
            for _, row in image.chain(at + first, versions, "IHHII", "versions of a library"):
                found[row[2] & ~_HIDDEN] = image.name(row[3]), library
    return found
