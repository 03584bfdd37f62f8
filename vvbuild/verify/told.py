"""Facts of programs that cost more than headers, read only where a rule asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vvbuild.binary.elf import ElfFacts
from vvbuild.binary.elf_symbols import ElfSymbols, read_symbols
from vvbuild.binary.macho import MachOFacts
from vvbuild.binary.macho_signature import check_pages
from vvbuild.binary.macho_symbols import read_macho_symbols
from vvbuild.binary.pe import PeFacts
from vvbuild.binary.pe_exports import read_exported_words, read_exports
from vvbuild.manifest.bootloader import hint_values
from vvbuild.manifest.bytes import bytes_tables

Binary = ElfFacts | PeFacts | MachOFacts


def told_exports(
    path: Path, binary: Binary, *, is_program: bool
) -> Mapping[str, int | None] | None:
    """What a file exports, where that says what it is; ``None`` for all others.

    Those are ONNX Runtime's libraries, by their table, and the program on Windows, with the
    values of the hints.
    """
    table = bytes_tables().runtimes
    if isinstance(binary, PeFacts):
        if not is_program and not table.exports_matter("win", path.name):
            return None
        found = read_exports(path)
        values = read_exported_words(path, frozenset(hint_values())) if is_program else {}
        return {name: values.get(name) for name in (found.names if found else ())}
    if isinstance(binary, ElfFacts):
        if not table.exports_matter("linux", path.name):
            return None
        return dict.fromkeys(read_symbols(path).exported_names)
    if not table.exports_matter("macos", path.name):
        return None
    return dict.fromkeys(name for each in read_macho_symbols(path) for name in each.exported)


def told_symbols(path: Path, binary: Binary) -> ElfSymbols | None:
    """All symbols of NVIDIA's libraries on Linux, and of ONNX Runtime's, which call them."""
    tables = bytes_tables()
    wanted = tables.nvidia.identify(path.name) or tables.runtimes.exports_matter("linux", path.name)
    return read_symbols(path) if wanted and isinstance(binary, ElfFacts) else None


def stale_signature(path: Path, binary: Binary) -> str | None:
    """What is wrong with a Mach-O file's signature, ``None`` if nothing is."""
    if not isinstance(binary, MachOFacts):
        return None
    for part in binary.slices:
        if part.signature is not None and part.signature.problem is not None:
            return part.signature.problem
        if part.trailing_bytes:
            return f"{part.trailing_bytes} bytes lie behind it"
    for check in check_pages(path):
        if not check.valid:
            return check.problem or f"{check.bad} of {check.pages} pages have other hashes"
    return None
