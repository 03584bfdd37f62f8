"""Facts of ELF files: what the loader of Linux will look for, and which glibc it needs.

Only headers are read, by seeking: a library of 400 MB costs less than a millisecond. Facts come
from the program headers and the dynamic table, as the loader reads them, so that a file without
section headers is read as well. What costs more is asked for apart: sections in
:mod:`vvbuild.binary.elf_sections`, symbols in :mod:`vvbuild.binary.elf_symbols`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from vvbuild.binary.elf_image import (
    LONGEST_NAME,
    MAGIC,
    MOST_ENTRIES,
    PT_GNU_STACK,
    PT_INTERP,
    PT_NOTE,
    Header,
    Image,
)
from vvbuild.binary.elf_sections import section_digest
from vvbuild.binary.source import Malformed, first_bytes, open_source, text

__all__ = ["ElfFacts", "VersionNeed", "is_elf", "read_elf", "section_digest"]

_MACHINES = {
    2: "sparc", 3: "x86", 8: "mips", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "arm", 43: "sparc64",
    62: "x64", 183: "arm64", 243: "riscv", 258: "loongarch",
}  # fmt: skip
_KINDS = {1: "rel", 2: "exec", 3: "dyn", 4: "core"}
_DT_NEEDED, _DT_SONAME, _DT_RPATH, _DT_TEXTREL, _DT_RUNPATH, _DT_FLAGS = 1, 14, 15, 22, 29, 30
_DT_FLAGS_1, _DT_VERDEF, _DT_VERDEFNUM = 0x6FFFFFFB, 0x6FFFFFFC, 0x6FFFFFFD
_DT_VERNEED, _DT_VERNEEDNUM = 0x6FFFFFFE, 0x6FFFFFFF
_DF_TEXTREL, _DF_1_PIE, _PF_X = 4, 0x0800_0000, 1
_VER_FLG_BASE, _VER_FLG_WEAK = 1, 2
_NT_GNU_BUILD_ID = 3
_MOST_NOTE_BYTES = 1 << 16
_VERSION = re.compile(r"(?P<family>[A-Za-z]\w*?)_(?P<number>\d{1,9}(?:\.\d{1,9}){0,5})")
# Versions that stand for an ability of the loader, and the first glibc that has it: its NEWS
# names 2.36 as the first with DT_RELR.
_ABILITIES = {"GLIBC_ABI_DT_RELR": "GLIBC_2.36"}


@dataclass(frozen=True, slots=True)
class VersionNeed:
    """A symbol version (``GLIBC_2.14``) that must be found in a library (``libc.so.6``).

    The loader only warns if a ``weak`` one is missing.
    """

    library: str
    version: str
    weak: bool = False


@dataclass(frozen=True, slots=True)
class ElfFacts:
    r"""What an ELF file says of itself.

    ``machine`` is ``x64``, ``arm64``, upstream's name (``x86``, ``x32``, ``arm64_be``) or ELF's
    number; ``kind`` is ``exec``, ``dyn`` (a library, or a position-independent program), ``rel``
    or ``core``, or ELF's number. ``rpath`` and ``runpath`` are the listed directories,
    unexpanded; the loader ignores the first where there is the second. A name with bytes that
    are no UTF-8 shows them as ``\xff``. ``version_definitions`` are the versions that a library
    gives, without the one that repeats its name. ``executable_stack`` is what the file asks for,
    ``None`` if it does not say (which the kernel takes as yes on x86). ``build_id`` is
    hexadecimal.
    """

    machine: str
    kind: str
    interpreter: str | None
    soname: str | None
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    version_needs: tuple[VersionNeed, ...]
    version_definitions: tuple[str, ...] = ()
    bits: int = 64
    byte_order: str = "little"
    dynamic: bool = True
    pie: bool = False
    text_relocations: bool = False
    executable_stack: bool | None = None
    build_id: str | None = None

    @property
    def static(self) -> bool:
        """Whether it is a program that needs neither a loader nor a library."""
        program = self.kind == "exec" or self.pie
        return program and self.interpreter is None and not self.needed

    @property
    def floors(self) -> dict[str, str]:
        """The highest version needed of each family, such as ``{"GLIBC": "2.14"}``.

        Names that carry no number (``GLIBC_PRIVATE``) set no floor.
        """
        return _highest(need.version for need in self.version_needs)

    @property
    def floors_by_library(self) -> dict[str, dict[str, str]]:
        """The same for each library that versions are needed of.

        Every library stands here, also one whose versions carry no number: it is needed, even
        if a packager took it out of ``needed``.
        """
        versions: dict[str, list[str]] = {}
        for need in self.version_needs:
            versions.setdefault(need.library, []).append(need.version)
        return {library: _highest(names) for library, names in versions.items()}


def is_elf(path: Path) -> bool:
    """Tell whether a regular file begins as every ELF file does. A link is followed."""
    return first_bytes(path, len(MAGIC)) == MAGIC


def read_elf(path: Path) -> ElfFacts:
    """Read the facts of one file.

    Raises :class:`BinaryMalformedError` for what is no ELF file or contradicts itself, and
    ``OSError`` where the file cannot be read at all.
    """
    with open_source(path, "ELF file") as source:
        return _facts(Image(source))


def _facts(image: Image) -> ElfFacts:
    interpreter = _interpreter(image)
    kind = _KINDS.get(image.header.kind, str(image.header.kind))
    soname = image.tag(_DT_SONAME)
    flags, flags_1 = image.tag(_DT_FLAGS) or 0, image.tag(_DT_FLAGS_1) or 0
    stack = image.segment(PT_GNU_STACK)
    return ElfFacts(
        machine=_machine(image.header),
        kind=kind,
        interpreter=interpreter,
        soname=None if soname is None else image.name(soname),
        needed=tuple(image.name(index) for index in image.tags(_DT_NEEDED)),
        rpath=_directories(image, _DT_RPATH),
        runpath=_directories(image, _DT_RUNPATH),
        version_needs=tuple(_version_needs(image)),
        version_definitions=tuple(_version_definitions(image)),
        bits=image.header.bits,
        byte_order="little" if image.header.little else "big",
        dynamic=bool(image.dynamic),
        pie=kind == "dyn" and (bool(flags_1 & _DF_1_PIE) or _looks_like_a_program(image)),
        text_relocations=image.tag(_DT_TEXTREL) is not None or bool(flags & _DF_TEXTREL),
        executable_stack=None if stack is None else bool(stack.flags & _PF_X),
        build_id=_build_id(image),
    )


def _looks_like_a_program(image: Image) -> bool:
    """Linkers of before 2016 set no flag; libc, which can be started as well, has a name."""
    return image.segment(PT_INTERP) is not None and image.tag(_DT_SONAME) is None


def _machine(header: Header) -> str:
    name = _MACHINES.get(header.machine, str(header.machine))
    if name == "x64" and header.bits == 32:
        return "x32"
    if name == "arm64":
        return name + ("" if header.bits == 64 else "_32") + ("" if header.little else "_be")
    if name in ("riscv", "loongarch"):
        return f"{name}{header.bits}"
    if name == "ppc64" and header.little:
        return "ppc64le"
    return name


def _interpreter(image: Image) -> str | None:
    segment = image.segment(PT_INTERP)
    if segment is None:
        return None
    limit = min(segment.size, LONGEST_NAME)
    return text(image.source.string(segment.offset, limit, "the interpreter's name"))


def _directories(image: Image, tag: int) -> tuple[str, ...]:
    values = [image.name(index) for index in image.tags(tag)]
    return tuple(part for value in values for part in value.split(":") if part)


def _version_needs(image: Image) -> Iterator[VersionNeed]:
    """Walk the two linked lists behind ``DT_VERNEED``: libraries, and the versions of each."""
    address, count = image.tag(_DT_VERNEED), image.tag(_DT_VERNEEDNUM)
    if address is None or not count:
        return
    offset = image.offset_of(address, "the version needs")
    total = 0
    for at, (_, versions, name, first, _) in image.chain(offset, count, "HHIII", "version needs"):
        library = image.name(name)
        total += versions
        if total > MOST_ENTRIES:  # the product of two bearable lists is not bearable
            raise Malformed(f"more than {MOST_ENTRIES} version needs")
        for _, row in image.chain(at + first, versions, "IHHII", "versions of a library"):
            yield VersionNeed(library, image.name(row[3]), bool(row[1] & _VER_FLG_WEAK))


def _version_definitions(image: Image) -> Iterator[str]:
    address, count = image.tag(_DT_VERDEF), image.tag(_DT_VERDEFNUM)
    if address is None or not count:
        return
    offset = image.offset_of(address, "the version definitions")
    for at, row in image.chain(offset, count, "HHHHIII", "version definitions"):
        flags, first = row[1], row[5]
        if not flags & _VER_FLG_BASE:
            # The first name is the version itself, the others are those it inherits from.
            for _, names in image.chain(at + first, 1, "II", "the name of a version"):
                yield image.name(names[0])


def _build_id(image: Image) -> str | None:
    """The content of the first note of that kind; notes that make no sense hold none."""
    for segment in image.segments:
        if segment.kind != PT_NOTE or segment.size > _MOST_NOTE_BYTES:
            continue
        data = image.source.at(segment.offset, segment.size, "a note")
        if found := _note(data, image.header.little, b"GNU\0", _NT_GNU_BUILD_ID):
            return found.hex()
    return None


def _note(data: bytes, little: bool, owner: bytes, kind: int) -> bytes | None:
    at = 0
    while at + 12 <= len(data):
        name_size, size, number = (
            int.from_bytes(data[at + step : at + step + 4], "little" if little else "big")
            for step in (0, 4, 8)
        )
        content = at + 12 + (name_size + 3 & ~3)
        if number == kind and data[at + 12 : at + 12 + name_size] == owner:
            return data[content : content + size]
        at = content + (size + 3 & ~3)
    return None


def _highest(versions: Iterable[str]) -> dict[str, str]:
    highest: dict[str, tuple[int, ...]] = {}
    for version in versions:
        if match := _VERSION.fullmatch(_ABILITIES.get(version, version)):
            number = tuple(int(part) for part in match["number"].split("."))
            family = match["family"]
            highest[family] = max(number, highest.get(family, ()))
    return {family: ".".join(map(str, highest[family])) for family in sorted(highest)}
