"""Reads the exported 32-bit variables of a PE file: a second opinion beside the linker's."""

from __future__ import annotations

import struct
from pathlib import Path


def exported_words(path: Path) -> dict[str, int]:
    """Names and values of all exports of a 64-bit PE file, each taken for a DWORD."""
    data = path.read_bytes()
    header = struct.unpack_from("<I", data, 60)[0]
    count, optional_size = struct.unpack_from("<H12xH", data, header + 6)
    optional = header + 24
    table = optional + optional_size
    sections = [struct.unpack_from("<8xIIII", data, table + 40 * i) for i in range(count)]

    def offset(rva: int) -> int:
        for size, start, raw_size, raw in sections:
            if start <= rva < start + max(size, raw_size):
                return rva - start + raw
        raise ValueError(f"no section holds {rva:#x}")

    directory = offset(struct.unpack_from("<I", data, optional + 112)[0])
    named, functions, names, ordinals = struct.unpack_from("<IIII", data, directory + 24)
    found = {}
    for index in range(named):
        at = offset(struct.unpack_from("<I", data, offset(names) + 4 * index)[0])
        name = data[at : data.index(b"\0", at)].decode()
        ordinal = struct.unpack_from("<H", data, offset(ordinals) + 2 * index)[0]
        rva = struct.unpack_from("<I", data, offset(functions) + 4 * ordinal)[0]
        found[name] = struct.unpack_from("<I", data, offset(rva))[0]
    return found
