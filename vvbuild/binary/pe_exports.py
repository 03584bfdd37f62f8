"""What a PE file exports, and the values of exported variables as they stand in the file."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vvbuild.binary.pe_image import EXPORTS, Image
from vvbuild.binary.source import Malformed, open_source

# Characteristics, time, version, the file's name, first ordinal, counts, and three tables.
_DIRECTORY = struct.Struct("<12xIIIIIII")
_MOST_EXPORTS = 1 << 17


@dataclass(frozen=True, slots=True)
class PeExport:
    """One export: by ``name``, if it has one, and by ``ordinal``, which several names may share.

    ``address`` is relative to the image. ``forward`` names what it stands for in another DLL
    (``NTDLL.RtlMoveMemory``); such a one has no bytes here.
    """

    name: str | None
    ordinal: int
    address: int
    forward: str | None = None


@dataclass(frozen=True, slots=True)
class PeExports:
    """All exports; ``library`` is the name that the linker gave to the file."""

    library: str
    exports: tuple[PeExport, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the file's order."""
        return tuple(each.name for each in self.exports if each.name is not None)


def read_exports(path: Path) -> PeExports | None:
    """Every export of a PE file, ``None`` if it has no table of them.

    Raises :class:`BinaryMalformedError` and ``OSError`` as :func:`~vvbuild.binary.pe.read_pe`.
    """
    with open_source(path, "PE file") as source:
        return _read(Image(source))


def read_exported_words(path: Path, names: frozenset[str]) -> dict[str, int]:
    """The 32-bit values of exported variables, as they are before the program runs.

    What is not exported by that very name, or is forwarded, is left out. Raises as
    :func:`read_exports`.
    """
    with open_source(path, "PE file") as source:
        image = Image(source)
        found = _read(image)
        return {
            name: int.from_bytes(image.at(each.address, 4, "an exported variable"), "little")
            for each in (found.exports if found is not None else ())
            if (name := each.name) is not None and name in names and each.forward is None
        }


def _read(image: Image) -> PeExports | None:
    directory = image.directory(EXPORTS)
    if directory is None:
        return None
    start, size = directory
    what = "the export table"
    library, base, functions, named, addresses, names, ordinals = _DIRECTORY.unpack(
        image.at(start, _DIRECTORY.size, what)
    )
    if max(functions, named) > _MOST_EXPORTS:
        raise Malformed(f"{what} has {max(functions, named)} rows")
    places = _numbers(image, addresses, functions, "I", what)
    by_number: dict[int, list[str | None]] = {}
    rows = zip(
        _numbers(image, ordinals, named, "H", what),
        _numbers(image, names, named, "I", what),
        strict=True,
    )
    for number, name in rows:
        by_number.setdefault(number, []).append(image.name(name, "an exported name"))
    exports: list[PeExport] = []
    for number, address in enumerate(places):
        if address == 0:
            continue
        # An address inside the table itself is a text, the name of what is meant.
        inside = 0 <= address - start < size
        forward = image.name(address, "a forwarded export") if inside else None
        exports += (
            PeExport(name, base + number, address, forward)
            for name in by_number.get(number, [None])
        )
    return PeExports(image.name(library, "the file's own name") if library else "", tuple(exports))


def _numbers(image: Image, address: int, count: int, kind: str, what: str) -> Iterator[int]:
    row = struct.Struct(f"<{kind}")
    data = image.at(address, count * row.size, what) if count else b""
    return (number for (number,) in row.iter_unpack(data))
