"""Symbols of Mach-O files: what a slice asks others for, and what it gives. Read on demand.

What is given is read as dyld reads it, from the export trie, and only for files of before 2010
from the symbol table. Layouts: Apple's ``mach-o/nlist.h`` and dyld's ``MachOTrie``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vvbuild.binary.macho_image import (
    LC_DYLD_EXPORTS_TRIE,
    LC_DYLD_INFO,
    LC_DYLD_INFO_ONLY,
    LC_DYSYMTAB,
    LC_SYMTAB,
    Image,
    is_archive,
    slices,
)
from vvbuild.binary.source import Malformed, open_source, text

_N_STAB, _N_PRIVATE, _N_TYPE, _N_EXTERNAL = 0xE0, 0x10, 0x0E, 0x01
_N_UNDEFINED, _N_WEAK_REF = 0, 0x40
_MH_TWO_LEVEL = 0x80
_MOST_TRIE_BYTES = 64 << 20
_MOST_SYMBOLS = 1 << 21
_MOST_NAME_BYTES = 128 << 20
_LONGEST_NAME = 1 << 16
_STEP = 1 << 18


@dataclass(frozen=True, slots=True)
class MachOSymbol:
    """A needed symbol, with its leading underscore, as every compiler puts one.

    ``library`` is the number of the dependency that must have it, counted from 1 in the file's
    order; 0 is the file itself, 254 any loaded library, 255 the program; ``None`` if the file
    does not say. A ``weak`` one may be missing.
    """

    name: str
    library: int | None
    weak: bool


@dataclass(frozen=True, slots=True)
class MachOSymbols:
    """What one slice asks for, and the names that it gives, with their underscores."""

    undefined: tuple[MachOSymbol, ...]
    exported: frozenset[str]


def read_macho_symbols(path: Path) -> tuple[MachOSymbols, ...]:
    """The symbols of each slice, in the order of :func:`vvbuild.binary.macho.read_macho`.

    Raises :class:`BinaryMalformedError` for damaged tables, ``OSError`` where the file cannot
    be read.
    """
    with open_source(path, "Mach-O file") as source:
        return tuple(
            MachOSymbols((), frozenset()) if is_archive(part.source) else _read(Image(part.source))
            for part in slices(source)
        )


def _read(image: Image) -> MachOSymbols:
    undefined = tuple(_undefined(image))
    trie = _trie_place(image)
    names = _from_table(image) if trie is None else _from_trie(image, *trie)
    return MachOSymbols(undefined, frozenset(text(name) for name in names))


def _undefined(image: Image) -> Iterator[MachOSymbol]:
    two_level = image.header.flags & _MH_TWO_LEVEL
    for name, kind, description, value in _table(image, undefined=True):
        external = kind & _N_EXTERNAL and not kind & _N_STAB
        if external and kind & _N_TYPE == _N_UNDEFINED and not value:
            library = description >> 8 if two_level else None
            yield MachOSymbol(text(name), library, bool(description & _N_WEAK_REF))


def _from_table(image: Image) -> Iterator[bytes]:
    for name, kind, _, _ in _table(image, undefined=False):
        given = kind & _N_EXTERNAL and not kind & (_N_STAB | _N_PRIVATE)
        if given and kind & _N_TYPE != _N_UNDEFINED:
            yield name


def _table(image: Image, *, undefined: bool) -> Iterator[tuple[bytes, int, int, int]]:
    """Name, type, description and value of the symbols, or of those where the undefined are."""
    command = image.find(LC_SYMTAB)
    if command is None:
        return
    offset, count, strings, room = image.fields(command, "IIII", "a symbol table")
    if count > _MOST_SYMBOLS:
        raise Malformed(f"{count} symbols, more than {_MOST_SYMBOLS}")
    image.source.check(strings, room, "the names of the symbols")
    entry = image.layout("IBBHQ" if image.header.bits == 64 else "IBBHI")
    first, number = 0, count
    if undefined and (ranges := image.find(LC_DYSYMTAB)):
        first, number = image.fields(ranges, "16xII", "a table of symbol ranges")
        if first + number > count:
            raise Malformed(f"undefined symbols {first} to {first + number} of {count}")
    left = _MOST_NAME_BYTES
    place, size = offset + first * entry.size, number * entry.size
    step = _STEP // entry.size * entry.size
    for chunk in image.source.chunks(place, size, "the symbols", step):
        for at, kind, _, description, value in entry.iter_unpack(chunk):
            if at >= room and at:
                raise Malformed(f"a symbol's name at {at:#x} of {room} bytes")
            limit = min(_LONGEST_NAME, room - at)
            name = image.source.string(strings + at, limit, "a symbol's name") if at else b""
            left -= len(name)
            if left < 0:
                raise Malformed("names of symbols that are too long together")
            yield name, kind, description, value


def _trie_place(image: Image) -> tuple[int, int] | None:
    if command := image.find(LC_DYLD_EXPORTS_TRIE):
        offset, size = image.fields(command, "II", "the place of the exports")
    elif command := image.find(LC_DYLD_INFO_ONLY, LC_DYLD_INFO):
        offset, size = image.fields(command, "32xII", "the place of the exports")
    else:
        return None
    return offset, size


def _from_trie(image: Image, offset: int, size: int) -> Iterator[bytes]:
    if size > _MOST_TRIE_BYTES:
        raise Malformed(f"exports of {size} bytes")
    if not size:
        return
    trie = image.source.at(offset, size, "the exports")
    # A node that is met again would be a loop, or would give its names twice.
    seen = {0}
    waiting: list[tuple[int, bytes]] = [(0, b"")]
    left = _MOST_NAME_BYTES
    while waiting:
        at, name = waiting.pop()
        information, at = _number(trie, at)
        if information:
            yield name
        at += information
        if at >= size:
            raise Malformed("a node of the exports ends behind them")
        children, at = trie[at], at + 1
        for _ in range(children):
            end = trie.find(b"\0", at, at + _LONGEST_NAME)
            if end < 0:
                raise Malformed("a name of the exports has no end")
            longer = name + trie[at:end]
            child, at = _number(trie, end + 1)
            left -= len(longer)
            if child >= size or child in seen or left < 0 or len(longer) > _LONGEST_NAME:
                raise Malformed(f"a node of the exports leads to {child:#x}, which cannot be")
            seen.add(child)
            waiting.append((child, longer))


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number in seven-bit groups, lowest first, and where the next thing begins."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise Malformed("a number of the exports has no end")
