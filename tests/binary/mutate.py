"""Damages files in the ways that files get damaged, and some that only an attacker finds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from vvbuild.binary.elf import read_elf, section_digest
from vvbuild.binary.elf_sections import library_names, read_sections
from vvbuild.binary.elf_symbols import read_symbols
from vvbuild.binary.gpu_code import read_gpu_code
from vvbuild.binary.identify import identify
from vvbuild.binary.macho import read_macho
from vvbuild.binary.macho_signature import check_pages
from vvbuild.binary.macho_symbols import read_macho_symbols
from vvbuild.binary.pe import read_pe
from vvbuild.binary.pe_exports import read_exported_words, read_exports
from vvbuild.binary.upx import read_upx
from vvbuild.errors import BinaryMalformedError

Reader = Callable[[Path], object]
ELF_READERS: tuple[Reader, ...] = (
    read_elf, read_symbols, read_sections, library_names,
    lambda path: section_digest(path, ".text"), read_upx, identify,
)  # fmt: skip
MACHO_READERS: tuple[Reader, ...] = (
    read_macho, check_pages, read_macho_symbols, read_upx, identify,
)  # fmt: skip
PE_READERS: tuple[Reader, ...] = (
    read_pe, read_exports, lambda path: read_exported_words(path, frozenset({"One", "f"})),
    read_upx, identify,
)  # fmt: skip
GPU_READERS: tuple[Reader, ...] = (read_gpu_code,)
_EDGES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF,
          0x7FFF_FFFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF)  # fmt: skip


def damaged(data: bytes, random_: random.Random, hot: Sequence[tuple[int, int]]) -> bytes:
    """Damage some bytes, most of them in the ``hot`` ranges (start, end) that readers look at."""
    mutated = bytearray(data)
    for _ in range(random_.choice((1, 1, 2, 4, 16))):
        start, end = random_.choice(hot) if random_.random() < 0.9 else (0, len(mutated))
        at = random_.randrange(start, max(start + 1, min(end, len(mutated))))
        size = random_.choice((1, 2, 4, 4, 8))
        if random_.random() < 0.5:
            value = random_.choice((*_EDGES, len(data), len(data) - 1, at))
        else:
            value = random_.getrandbits(8 * size)
        order = "little" if random_.random() < 0.8 else "big"
        piece = (value & (1 << 8 * size) - 1).to_bytes(size, order)
        if random_.random() < 0.1:  # what stands elsewhere, such as a pointer to another table
            other = random_.randrange(len(mutated))
            piece = bytes(mutated[other : other + size])
        mutated[at : at + len(piece)] = piece
    if random_.random() < 0.1:
        del mutated[random_.randrange(len(mutated) + 1) :]
    return bytes(mutated)


def survive(path: Path, readers: Iterable[Reader]) -> int:
    """Read a file in every way; each gives facts or the one typed error. Returns the errors."""
    refused = 0
    for read in readers:
        with suppress(BinaryMalformedError):
            read(path)
            continue
        refused += 1
    return refused


def hammer(
    data: bytes,
    hot: Sequence[tuple[int, int]],
    path: Path,
    readers: Sequence[Reader],
    *,
    seed: int,
    count: int,
) -> int:
    """Damage and read ``count`` times; the same seed damages alike. Returns what was refused."""
    random_ = random.Random(seed)
    refused = 0
    for number in range(count):
        path.write_bytes(damaged(data, random_, hot))
        try:
            refused += survive(path, readers)
        except Exception as error:
            raise AssertionError(f"seed {seed}, damage {number}: {error!r}") from error
    return refused
