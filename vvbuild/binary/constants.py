"""Where the constants of a program lie, and with them the names that it knows others by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vvbuild.binary.elf_image import Image as ElfImage
from vvbuild.binary.elf_sections import sections_of
from vvbuild.binary.gpu_code import GPU_SECTIONS
from vvbuild.binary.identify import identify
from vvbuild.binary.pe_image import Image as PeImage
from vvbuild.binary.source import Malformed, Source, open_source

_SHF_EXEC = 4
_PE_EXEC = 0x2000_0000


def constant_ranges(path: Path) -> list[tuple[int, int]]:
    """Offset and size of all that is neither code nor GPU code: of cuDNN's 272 MiB two.

    Raises ``OSError`` where the file cannot be read, :class:`BinaryMalformedError` for what is no
    regular one.
    """
    kind = identify(path)
    with open_source(path, "file") as source:
        try:
            code = sorted(_elf_code(source) if kind == "elf" else _pe_code(source, kind))
        except Malformed:
            code = []
        size = source.size
    ranges, at = [], 0
    for start, end in [*code, (size, size)]:
        if at < min(start, size):
            ranges.append((at, min(start, size) - at))
        at = max(at, end)
    return ranges


def _elf_code(source: Source) -> Iterator[tuple[int, int]]:
    for each in sections_of(ElfImage(source)):
        if each.flags & _SHF_EXEC or each.name in GPU_SECTIONS:
            yield each.offset, each.offset + each.size


def _pe_code(source: Source, kind: str | None) -> Iterator[tuple[int, int]]:
    for each in PeImage(source).sections if kind == "pe" else ():
        if each.flags & _PE_EXEC or each.name in GPU_SECTIONS:
            yield each.offset, each.offset + each.size
