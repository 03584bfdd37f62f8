"""Telling by a file's first bytes what program format it has, and reading it as that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vvbuild.binary.elf_image import MAGIC as _ELF
from vvbuild.binary.macho import starts_as_macho
from vvbuild.binary.source import first_bytes

if TYPE_CHECKING:
    from vvbuild.binary.elf import ElfFacts
    from vvbuild.binary.macho import MachOFacts
    from vvbuild.binary.pe import PeFacts

BinaryFormat = Literal["elf", "pe", "macho"]
_START = 1024


def identify(path: Path) -> BinaryFormat | None:
    """The format of a program or library, or ``None``; one read of at most 1 KiB.

    A link is followed; what is no regular file has no format. A file that begins as one of a
    format may be damaged behind that: reading it tells. A DOS program (``MZ`` without a PE
    header) is none.
    """
    start = first_bytes(path, _START)
    if start.startswith(_ELF):
        return "elf"
    if starts_as_macho(start):
        return "macho"
    return "pe" if start.startswith(b"MZ") and _has_pe_header(path, start) else None


def read_binary(path: Path) -> ElfFacts | PeFacts | MachOFacts | None:
    """The facts of a program or library; ``None`` for any other file.

    Raises :class:`BinaryMalformedError` for a damaged one, ``OSError`` where it cannot be read.
    """
    match identify(path):
        case "elf":
            from vvbuild.binary.elf import read_elf

            return read_elf(path)
        case "macho":
            from vvbuild.binary.macho import read_macho

            return read_macho(path)
        case "pe":
            from vvbuild.binary.pe import read_pe

            return read_pe(path)
    return None


def _has_pe_header(path: Path, start: bytes) -> bool:
    at = int.from_bytes(start[60:64], "little")
    if at + 4 <= len(start):
        return start[at : at + 4] == b"PE\0\0"
    with path.open("rb", buffering=0) as stream:
        stream.seek(at)
        return stream.read(4) == b"PE\0\0"
