"""Writes small ELF files, so that a test knows every byte that it asks about."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

_BASE = 0x1000
_EHDR, _PHDR, _SHDR = 64, 56, 64


def elf(
    *,
    machine: int = 62,
    kind: int = 3,
    interpreter: str | None = None,
    soname: str | None = None,
    needed: Sequence[str] = (),
    rpath: str | None = None,
    runpath: str | None = None,
    versions: Mapping[str, Sequence[str]] | None = None,
    sections: Mapping[str, bytes] | None = None,
    endless_versions: bool = False,
) -> bytes:
    """A 64-bit little-endian file. ``versions`` maps a library to the versions needed of it."""
    strings = _Strings()
    tags = [(1, strings.add(name)) for name in needed]
    tags += [(14, strings.add(soname))] if soname else []
    tags += [(15, strings.add(rpath))] if rpath else []
    tags += [(29, strings.add(runpath))] if runpath else []
    verneed = _verneed(versions or {}, strings, endless=endless_versions)
    interp = interpreter.encode() + b"\0" if interpreter else b""

    headers = _EHDR + 3 * _PHDR
    at_interp = headers
    at_strings = at_interp + len(interp)
    at_verneed = at_strings + len(strings.data)
    at_dynamic = at_verneed + len(verneed)
    tags += [(5, _BASE + at_strings), (10, len(strings.data))]
    if versions:
        count = 0xFFFF_FFFF if endless_versions else len(versions)
        tags += [(0x6FFFFFFE, _BASE + at_verneed), (0x6FFFFFFF, count)]
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in [*tags, (0, 0)])
    end = at_dynamic + len(dynamic)
    body = interp + bytes(strings.data) + verneed + dynamic

    segments = [_segment(1, 0, end), _segment(2, at_dynamic, len(dynamic))]
    segments += [_segment(3, at_interp, len(interp))] if interp else [_segment(0, 0, 0)]
    contents, table, count = _sections(sections or {}, end)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01", kind, machine, 1, 0, _EHDR, end + len(contents) if count else 0,
        0, _EHDR, _PHDR, 3, _SHDR, count, count - 1 if count else 0,
    )  # fmt: skip
    return header + b"".join(segments) + body + contents + table


class _Strings:
    def __init__(self) -> None:
        self.data = bytearray(b"\0")

    def add(self, text: str) -> int:
        at = len(self.data)
        self.data += text.encode() + b"\0"
        return at


def _segment(kind: int, offset: int, size: int) -> bytes:
    at = _BASE + offset
    return struct.pack("<IIQQQQQQ", kind, 5, offset, at, at, size, size, 8)


def _verneed(versions: Mapping[str, Sequence[str]], strings: _Strings, *, endless: bool) -> bytes:
    data = b""
    for number, (library, names) in enumerate(versions.items()):
        last = number == len(versions) - 1 and not endless
        data += struct.pack(
            "<HHIII", 1, len(names), strings.add(library), 16, 0 if last else 16 * (1 + len(names))
        )
        for index, name in enumerate(names):
            step = 0 if index == len(names) - 1 else 16
            data += struct.pack("<IHHII", 0, 0, 2, strings.add(name), step)
    return data


def _sections(sections: Mapping[str, bytes], start: int) -> tuple[bytes, bytes, int]:
    if not sections:
        return b"", b"", 0
    names = _Strings()
    rows = [(0, 0, 0, 0)]
    contents = b""
    for name, data in sections.items():
        rows.append((names.add(name), 1, start + len(contents), len(data)))
        contents += data
    own = names.add(".shstrtab")
    rows.append((own, 3, start + len(contents), len(names.data)))
    contents += bytes(names.data)
    table = b"".join(
        struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, size, 0, 0, 1, 0)
        for name, kind, offset, size in rows
    )
    return contents, table, len(rows)
