"""For which NVIDIA GPUs a library carries code.

NVIDIA's own tool (cuobjdump) reads no PE files, only the usual sections, and unpacks everything
for its answer; see :mod:`vvbuild.binary.fatbin` for what is read here instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from vvbuild.binary.elf_image import Image as ElfImage
from vvbuild.binary.elf_sections import sections_of
from vvbuild.binary.fatbin import Code, Kind, containers
from vvbuild.binary.identify import identify
from vvbuild.binary.pe_image import Image as PeImage
from vvbuild.binary.source import Source, open_source

Reach = Literal["native", "jit", "none"]

GPU_SECTIONS = frozenset({".nv_fatbin", "__nv_relfatbin", ".nv_fatb", "__nv_rel"})
"""Where nvcc puts it; PE cuts names of sections to eight bytes."""
# Of sections with other names, those in which compilers put what is no GPU code.
_ORDINARY_STARTS = (
    ".data", ".rodata", ".lrodata", ".rdata", ".rel", ".rsrc", ".reloc", ".pdata", ".eh_frame",
    ".gcc_except", ".dyn", ".gnu", ".hash", ".note", ".debug", ".nvFatBi", ".tdata", ".strtab",
    ".symtab", ".stab", ".comment", ".ldata",
)  # fmt: skip
# cuFFT has a stub in the usual section, of one container, and everything among its data.
_STUB_BYTES = 64 << 10
_LEAST_OTHER_BYTES = 64 << 10
_SHF_ALLOC, _SHF_EXEC = 2, 4
_PE_EXEC = 0x2000_0000
# GPUs of systems on a chip, whose code no graphics card runs: 5.3, 6.2, 7.2, 8.7, 10.1, 11.0.
_ON_CHIP = frozenset({53, 62, 72, 87, 101, 110})


class Coverage(NamedTuple):
    """How many containers serve a GPU: with machine code, by compiling when started, not at all."""

    native: int
    jit: int
    none: int

    @property
    def reach(self) -> Reach:
        """The best that any container does."""
        return "native" if self.native else "jit" if self.jit else "none"


@dataclass(frozen=True, slots=True)
class GpuCode:
    """The GPU code of a library.

    ``groups`` are the containers (one for each source file, roughly) by what they hold, with how
    many hold just that. ``unknown`` counts entries of a kind that this reader does not know.
    """

    groups: tuple[tuple[frozenset[Code], int], ...]
    unknown: int = 0

    @property
    def containers(self) -> int:
        """How many there are."""
        return sum(count for _, count in self.groups)

    def counts(self, kind: Kind) -> dict[str, int]:
        """Architecture (``90a``) → how many containers have code of that kind for it."""
        found: Counter[tuple[int, str]] = Counter()
        for codes, count in self.groups:
            for code in codes:
                if code.kind == kind:
                    found[code.arch, code.suffix] += count
        return {f"{arch}{suffix}": found[arch, suffix] for arch, suffix in sorted(found)}

    @property
    def sass(self) -> tuple[str, ...]:
        """Architectures with machine code, such as ``75`` and ``90a``."""
        return tuple(self.counts("sass"))

    @property
    def ptx(self) -> tuple[str, ...]:
        """Architectures with text that drivers compile for newer ones."""
        return tuple(self.counts("ptx"))

    def coverage(self, capability: str) -> Coverage:
        """How far the code serves a GPU of that compute capability (``12.0``).

        Rules: NVIDIA's compatibility guides ("Building applications with …"). Machine code runs
        on GPUs of its major version from its minor one on; ``a`` code runs on exactly its own.
        PTX serves every newer GPU; with ``f`` its own major version, with ``a`` exactly its own.
        """
        major, _, minor = capability.partition(".")
        device = (int(major), int(minor))
        found = {"native": 0, "jit": 0, "none": 0}
        for codes, count in self.groups:
            found[_reach(codes, device)] += count
        return Coverage(**found)


def read_gpu_code(path: Path) -> GpuCode | None:
    """The GPU code of an ELF or PE file; ``None`` for a file that has none.

    Raises :class:`BinaryMalformedError` where its sections contradict themselves, ``OSError``
    where it cannot be read.
    """
    if (kind := identify(path)) not in ("elf", "pe"):
        return None
    with open_source(path, f"{'ELF' if kind == 'elf' else 'PE'} file") as source:
        sections = list(_elf_sections(source) if kind == "elf" else _pe_sections(source))
        groups: Counter[frozenset[Code]] = Counter()
        unknown = 0
        for offset, size, dense in _with_code(sections):
            for container in containers(source, offset, size, dense=dense):
                groups[container.codes] += 1
                unknown += container.unknown
    if not groups:
        return None
    return GpuCode(tuple(sorted(groups.items(), key=lambda each: sorted(each[0]))), unknown)


class _Section(NamedTuple):
    name: str
    offset: int
    size: int


def _with_code(sections: list[_Section]) -> Iterator[tuple[int, int, bool]]:
    """The sections to look at, and whether containers stand side by side in them."""
    named = [each for each in sections if each.name in GPU_SECTIONS]
    if not named:
        return
    only_a_stub = sum(each.size for each in named) < _STUB_BYTES
    for section in sections:
        if section.name in GPU_SECTIONS:
            yield section.offset, section.size, True
        elif section.size >= _LEAST_OTHER_BYTES and (
            only_a_stub or not section.name.startswith(_ORDINARY_STARTS)
        ):
            yield section.offset, section.size, False


def _elf_sections(source: Source) -> Iterator[_Section]:
    for section in sections_of(ElfImage(source)):
        if section.size and section.flags & _SHF_ALLOC and not section.flags & _SHF_EXEC:
            yield _Section(section.name, section.offset, section.size)


def _pe_sections(source: Source) -> Iterator[_Section]:
    for section in PeImage(source).sections:
        # The file's bytes are padded, the memory's may be more than the file has.
        size = min(section.size, section.memory_size)
        if size and not section.flags & _PE_EXEC:
            yield _Section(section.name, section.offset, size)


def _reach(codes: frozenset[Code], device: tuple[int, int]) -> Reach:
    reached = {code.kind for code in codes if _serves(code, device)}
    return "native" if "sass" in reached else "jit" if "ptx" in reached else "none"


def _serves(code: Code, device: tuple[int, int]) -> bool:
    made_for = divmod(code.arch, 10)
    if code.suffix == "a" or code.arch in _ON_CHIP:
        return device == made_for
    if code.kind == "sass" or code.suffix == "f":
        return device[0] == made_for[0] and device >= made_for
    return code.kind == "ptx" and device >= made_for
