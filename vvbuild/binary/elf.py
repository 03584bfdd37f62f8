"""Facts of ELF files: what the loader of Linux will look for, and which glibc it needs.

Only headers are read, by seeking: a library of 400 MB costs a few milliseconds. Facts come
from the program headers, as the loader reads them, so that a file without section headers
is read as well. Sections matter to :func:`section_digest` alone.
"""

from __future__ import annotations

import errno
import hashlib
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

from vvbuild.errors import BinaryMalformedError
from vvbuild.model.digest import Digest

if TYPE_CHECKING:
    from elftools.elf.dynamic import DynamicSegment
    from elftools.elf.elffile import ELFFile
    from elftools.elf.segments import InterpSegment, Segment

T = TypeVar("T")

_MAGIC = b"\x7fELF"
_CHUNK = 1 << 20
_MACHINES = {"EM_X86_64": "x64", "EM_AARCH64": "arm64"}
_KINDS = {"ET_EXEC": "exec", "ET_DYN": "dyn", "ET_REL": "rel", "ET_CORE": "core"}
_VERSION = re.compile(r"(?P<family>[A-Za-z]\w*?)_(?P<number>\d+(?:\.\d+)*)")
# No real file comes near: CUDA's provider, the largest seen, has 60 version needs. A crafted
# chain that points at itself would otherwise be walked four thousand million times.
_MOST_ENTRIES = 10_000


@dataclass(frozen=True, slots=True)
class VersionNeed:
    """A symbol version (``GLIBC_2.14``) that must be found in a library (``libc.so.6``)."""

    library: str
    version: str


@dataclass(frozen=True, slots=True)
class ElfFacts:
    """What an ELF file says of itself.

    ``machine`` is ``x64``, ``arm64`` or ELF's own name (``EM_386``); ``kind`` is ``exec``,
    ``dyn`` (a library, or a position-independent program: that one has an ``interpreter``),
    ``rel`` or ``core``, or ELF's own name. ``rpath`` and ``runpath`` are the listed
    directories, unexpanded.
    """

    machine: str
    kind: str
    interpreter: str | None
    soname: str | None
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    version_needs: tuple[VersionNeed, ...]

    @property
    def floors(self) -> dict[str, str]:
        """The highest version needed of each family, such as ``{"GLIBC": "2.14"}``.

        Names that carry no number (``GLIBC_PRIVATE``) set no floor.
        """
        highest: dict[str, tuple[int, ...]] = {}
        for need in self.version_needs:
            if match := _VERSION.fullmatch(need.version):
                number = tuple(int(part) for part in match["number"].split("."))
                family = match["family"]
                highest[family] = max(number, highest.get(family, ()))
        return {family: ".".join(map(str, highest[family])) for family in sorted(highest)}


def is_elf(path: Path) -> bool:
    """Tell whether a regular file begins as every ELF file does. A link is followed."""
    if not stat.S_ISREG(path.stat().st_mode):
        return False
    with path.open("rb") as stream:
        return stream.read(len(_MAGIC)) == _MAGIC


def read_elf(path: Path) -> ElfFacts:
    """Read the facts of one file.

    Raises :class:`BinaryMalformedError` for what is no ELF file or contradicts itself, and
    ``OSError`` where the file cannot be read at all.
    """
    with path.open("rb") as stream, _parsing(path):
        return _facts(stream)


def section_digest(path: Path, name: str) -> Digest:
    """The SHA-256 of the bytes of one section, such as ``.text``; memory stays flat.

    Raises :class:`BinaryMalformedError` where there is no such section, too.
    """
    with path.open("rb") as stream, _parsing(path):
        offset, size = _section_range(stream, name)
        stream.seek(offset)
        digest = hashlib.sha256()
        while size:
            chunk = stream.read(min(size, _CHUNK))
            if not chunk:
                raise ValueError(f"section {name} ends behind the end of the file")
            digest.update(chunk)
            size -= len(chunk)
    return Digest(digest.hexdigest())


@contextmanager
def _parsing(path: Path) -> Iterator[None]:
    """Give every way in which a parser trips over bad bytes one name."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # EINVAL: a seek to nowhere
            raise
        # Hostile bytes make the parser fail in every way that Python knows (assertions, missing
        # keys, seeks to nowhere …); a list of them would be wrong with its next release.
        raise BinaryMalformedError(
            f"{path.name} is not a whole ELF file: {str(error) or type(error).__name__}.",
            context={"path": path, "parser": type(error).__name__},
            hint="The file is damaged or was cut off. Fetch or build it again.",
        ) from error


def _facts(stream: BinaryIO) -> ElfFacts:
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(stream)
    # The parser would look for the section of each table, in a list that may be anything.
    elf.header["e_shoff"] = 0
    interpreter = cast("InterpSegment | None", _segment(elf, "PT_INTERP"))
    dynamic = cast("DynamicSegment | None", _segment(elf, "PT_DYNAMIC"))
    tags = _dynamic_strings(dynamic)
    machine, kind = str(elf["e_machine"]), str(elf["e_type"])
    return ElfFacts(
        machine=_MACHINES.get(machine, machine),
        kind=_KINDS.get(kind, kind),
        interpreter=None if interpreter is None else interpreter.get_interp_name(),
        soname=next(iter(tags["soname"]), None),
        needed=tuple(tags["needed"]),
        rpath=_directories(tags["rpath"]),
        runpath=_directories(tags["runpath"]),
        version_needs=tuple(_bounded(_version_needs(elf, dynamic))) if dynamic is not None else (),
    )


def _segment(elf: ELFFile, kind: str) -> Segment | None:
    return next(iter(elf.iter_segments(type=kind)), None)


def _dynamic_strings(dynamic: DynamicSegment | None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"soname": [], "needed": [], "rpath": [], "runpath": []}
    for tag in _bounded(dynamic.iter_tags()) if dynamic is not None else ():
        name = str(tag.entry.d_tag).removeprefix("DT_").lower()
        if name in found:
            found[name].append(str(getattr(tag, name)))
    return found


def _directories(values: list[str]) -> tuple[str, ...]:
    return tuple(part for value in values for part in value.split(":") if part)


def _version_needs(elf: ELFFile, dynamic: DynamicSegment) -> Iterator[VersionNeed]:
    """Walk the two linked lists behind ``DT_VERNEED``: libraries, and the versions of each."""
    _, offset = dynamic.get_table_offset("DT_VERNEED")
    counts = [int(tag["d_val"]) for tag in dynamic.iter_tags("DT_VERNEEDNUM")]
    if offset is None or not counts:
        return
    _, strings = dynamic.get_table_offset("DT_STRTAB")
    if strings is None:
        raise ValueError("version needs without a string table")
    for library in _bounded(_chain(elf, "Elf_Verneed", "vn", offset, counts[0])):
        first, count = library["at"] + library["vn_aux"], library["vn_cnt"]
        name = _string(elf, strings + library["vn_file"])
        for version in _chain(elf, "Elf_Vernaux", "vna", first, count):
            yield VersionNeed(name, _string(elf, strings + version["vna_name"]))


def _chain(
    elf: ELFFile, structure: str, prefix: str, offset: int, count: int
) -> Iterator[dict[str, int]]:
    from elftools.common.utils import struct_parse

    for index in range(count):
        entry = struct_parse(getattr(elf.structs, structure), elf.stream, stream_pos=offset)
        yield {**entry, "at": offset}
        step = entry[f"{prefix}_next"]
        if step == 0 and index + 1 < count:
            raise ValueError("a list of version needs that ends too early")
        offset += step


def _string(elf: ELFFile, offset: int) -> str:
    from elftools.common.utils import parse_cstring_from_stream

    raw = parse_cstring_from_stream(elf.stream, offset)
    if raw is None:
        raise ValueError("a name behind the end of the file")
    return str(raw.decode())


def _bounded(entries: Iterator[T]) -> Iterator[T]:
    yield from islice(entries, _MOST_ENTRIES)
    if next(entries, None) is not None:
        raise ValueError(f"a table of more than {_MOST_ENTRIES} entries")


def _section_range(stream: BinaryIO, name: str) -> tuple[int, int]:
    """Offset and size in bytes of a section's content; a section without bytes has size 0."""
    from elftools.elf.elffile import ELFFile

    section = ELFFile(stream).get_section_by_name(name)
    if section is None:
        raise ValueError(f"there is no section {name}")
    if section["sh_type"] == "SHT_NOBITS":
        return 0, 0
    return int(section["sh_offset"]), int(section["sh_size"])
