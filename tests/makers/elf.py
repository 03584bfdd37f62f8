"""Writes small ELF files that a loader takes, so that a test knows every byte that it asks about.

``make_elf(path, soname="libx.so.1", needed=["libc.so.6"], needs={"libc.so.6": ["GLIBC_2.17"]})``
writes one and returns the path; ``elf_bytes`` gives the bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

MACHINES = {"x86": 3, "arm": 40, "s390x": 22, "ppc64": 21, "x64": 62, "arm64": 183, "riscv64": 243}
_KINDS = {"rel": 1, "exec": 2, "dyn": 3, "core": 4}
# Addresses differ from offsets, so that a reader that mixes them up is found out.
_BASE, _PAGE = 0x1_0000, 0x1000
_GLOB_DAT, _SEGMENTS, _BUILD_ID = 6, 5, ".note.gnu.build-id"
_TABLES = {
    ".dynstr": 5, ".dynsym": 6, ".hash": 4, ".gnu.hash": 0x6FFFFEF5, ".rela.dyn": 7,
    ".gnu.version": 0x6FFFFFF0, ".gnu.version_r": 0x6FFFFFFE, ".gnu.version_d": 0x6FFFFFFC,
}  # fmt: skip


def make_elf(path: Path, **facts: object) -> Path:
    """Write a file with the facts of :func:`elf_bytes`; folders are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(elf_bytes(**facts))  # type: ignore[arg-type]
    return path


def elf_bytes(
    *,
    machine: str | int = "x64",
    kind: str | int = "dyn",
    bits: int = 64,
    big: bool = False,
    interpreter: str | None = None,
    soname: str | None = None,
    needed: Sequence[str] = (),
    rpath: str | None = None,
    runpath: str | None = None,
    needs: Mapping[str, Sequence[str]] | None = None,
    weak_needs: Sequence[str] = (),
    defines: Sequence[str] = (),
    exports: Sequence[str] = (),
    undefined: Sequence[str] = (),
    gnu_hash: bool = False,
    relocations: bool = False,
    flags: int = 0,
    flags_1: int = 0,
    textrel: bool = False,
    execstack: bool | None = None,
    build_id: bytes | None = None,
    sections: Mapping[str, bytes] | None = None,
    endless_versions: bool = False,
    headers: bool = True,
    data: bytes = b"",
) -> bytes:
    """The bytes of a file.

    ``needs`` maps a library to the versions needed of it, those in ``weak_needs`` weakly.
    ``exports`` and ``undefined`` are symbols, ``name`` or ``name@VERSION`` with a version of
    ``defines`` or ``needs`` (``name@@VERSION`` for the default one). With ``relocations`` each
    undefined one has an entry in a table of them, as in a real file (x64 and other 64-bit ones
    have the same layout; the type is x64's). ``sections`` adds sections
    with that content; without ``headers`` and ``sections`` there is no section table. ``data``
    is appended behind everything.
    """
    word, strings, needs = _Words(bits, big), _Strings(), needs or {}
    tags = [(1, strings.add(name)) for name in needed]
    texts = {14: soname, 15: rpath, 29: runpath}
    tags += [(tag, strings.add(text)) for tag, text in texts.items() if text is not None]
    numbers = {30: flags, 0x6FFFFFFB: flags_1}
    tags += [(tag, number) for tag, number in numbers.items() if number]
    tags += [(22, 0)] if textrel else []
    marks = _marks(defines, needs)
    symbols = _symbols(exports, undefined, marks, strings)
    parts = {
        ".interp": interpreter.encode() + b"\0" if interpreter is not None else b"",
        ".note.gnu.build-id": _note(word, build_id) if build_id is not None else b"",
        ".gnu.version_r": _verneed(
            word, needs, weak_needs, marks, strings, endless=endless_versions
        ),
        ".gnu.version_d": _verdef(word, defines, soname or "", strings) if defines else b"",
        ".dynstr": bytes(strings.data),
        ".dynsym": b"".join(word.symbol(*row[:4]) for row in symbols),
        ".gnu.hash" if gnu_hash else ".hash": _gnu_hash(word, symbols, len(undefined))
        if gnu_hash
        else _hash(word, symbols),
        ".gnu.version": b"".join(word.pack("H", row[4]) for row in symbols)
        if needs or defines
        else b"",
        ".got": bytes(8 * len(undefined) * relocations),
        ".rela.dyn": bytes(24 * len(undefined) * relocations),
    }
    libraries = 0xFFFF_FFFF if endless_versions else len(needs)
    counts = {".gnu.version_r": libraries, ".gnu.version_d": len(defines) + 1}
    start = _align((64 if bits == 64 else 52) + _SEGMENTS * (56 if bits == 64 else 32), 16)
    places, body = _placed(parts, start)
    if relocations:
        _relocate(word, places, body, start)
    tags += _table_tags(word, places, counts)
    number = kind if isinstance(kind, int) else _KINDS[kind]
    linked = number == 3 or len(tags) > 5 or interpreter is not None
    dynamic = b"".join(word.pack("PP", *tag) for tag in [*tags, (0, 0)])
    places[".dynamic"] = start + len(body), len(dynamic)
    body += dynamic
    end = start + len(body)

    own = {name: bytes(body[at - start : at - start + size]) for name, (at, size) in places.items()}
    own = own if headers and linked else {}
    contents, section_table, count = _sections(word, own, places, sections or {}, end)
    number_of = machine if isinstance(machine, int) else MACHINES[machine]
    header = word.header(number, number_of, end + len(contents) if count else 0, _SEGMENTS, count)
    table = _segments(word, places, end, linked=linked, execstack=execstack)
    head = (header + table).ljust(start, b"\0")
    return head + bytes(body) + contents + section_table + data


_Places = dict[str, tuple[int, int]]


def _placed(parts: Mapping[str, bytes], start: int) -> tuple[_Places, bytearray]:
    """Lay the parts that are not empty one behind the other: offsets and sizes, and the bytes."""
    places: _Places = {}
    body = bytearray()
    for name, content in parts.items():
        if content:
            places[name] = start + len(body), len(content)
            body += content.ljust(_align(len(content), 16), b"\0")
    return places, body


def _relocate(word: _Words, places: _Places, body: bytearray, start: int) -> None:
    at, size = places.get(".rela.dyn", (start, 0))
    for number in range(size // 24):
        slot = _BASE + places[".got"][0] + 8 * number
        row = word.pack("QQQ", slot, number + 1 << 32 | _GLOB_DAT, 0)
        body[at - start + 24 * number : at - start + 24 * number + 24] = row


def _table_tags(word: _Words, places: _Places, counts: Mapping[str, int]) -> list[tuple[int, int]]:
    """The dynamic entries that say where tables are, and how long."""
    tags = [(10, places[".dynstr"][1]), (11, 24 if word.wide else 16)]
    for name, tag in _TABLES.items():
        if name in places:
            tags.append((tag, _BASE + places[name][0]))
            if name in counts:
                tags.append((tag + 1, counts[name]))
    if ".rela.dyn" in places:
        tags += [(8, places[".rela.dyn"][1]), (9, 24)]
    return tags


def _segments(
    word: _Words, places: _Places, end: int, *, linked: bool, execstack: bool | None
) -> bytes:
    rows = [word.segment(1, 6, 0, _BASE, end, _PAGE)]
    for name, number in ((".dynamic", 2 if linked else 0), (".interp", 3), (_BUILD_ID, 4)):
        place, size = places.get(name, (0, 0))
        rows.append(word.segment(number if size else 0, 6, place, _BASE + place, size, 4))
    stack = 0 if execstack is None else 0x6474E551
    rows.append(word.segment(stack, 7 if execstack else 6, 0, 0, 0, 16))
    return b"".join(rows)


def _note(word: _Words, build_id: bytes) -> bytes:
    return word.pack("III", 4, len(build_id), 3) + b"GNU\0" + build_id


class _Words:
    """Structures in one word size and byte order."""

    def __init__(self, bits: int, big: bool) -> None:
        self.wide, self.big = bits == 64, big

    def pack(self, fields: str, *values: int) -> bytes:
        fields = fields.replace("P", "Q" if self.wide else "I")
        return struct.pack((">" if self.big else "<") + fields, *values)

    def header(self, kind: int, machine: int, sections: int, segments: int, count: int) -> bytes:
        ident = b"\x7fELF" + bytes([2 if self.wide else 1, 2 if self.big else 1, 1]).ljust(
            12, b"\0"
        )
        size, program, section = (64, 56, 64) if self.wide else (52, 32, 40)
        return ident + self.pack(
            "HHIPPPIHHHHHH", kind, machine, 1, 0, size, sections, 0, size, program, segments,
            section, count, count - 1 if count else 0,
        )  # fmt: skip

    def segment(self, kind: int, flags: int, offset: int, at: int, size: int, align: int) -> bytes:
        if self.wide:
            return self.pack("IIPPPPPP", kind, flags, offset, at, at, size, size, align)
        return self.pack("IPPPPPIP", kind, offset, at, at, size, size, flags, align)

    def symbol(self, name: int, value: int, info: int, section: int) -> bytes:
        if self.wide:
            return self.pack("IBBHQQ", name, info, 0, section, value, 8 if section else 0)
        return self.pack("IIIBBH", name, value, 8 if section else 0, info, 0, section)


class _Strings:
    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self._known: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._known[text]

    def at(self, offset: int) -> str:
        return bytes(self.data[offset : self.data.index(0, offset)]).decode()


def _align(value: int, step: int) -> int:
    return -(-value // step) * step


def _marks(defines: Sequence[str], needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The number that stands for each version; 0 and 1 have none, and 1 is the file itself."""
    names = [*defines, *(name for versions in needs.values() for name in versions)]
    return {name: number for number, name in enumerate(dict.fromkeys(names), start=2)}


_Row = tuple[int, int, int, int, int, str]


def _symbols(
    exports: Sequence[str], undefined: Sequence[str], marks: Mapping[str, int], strings: _Strings
) -> list[_Row]:
    """Name, address, binding and type, section, version mark, and the name again."""
    rows: list[_Row] = [(0, 0, 0, 0, 0, "")]
    for text, section in [*((name, 0) for name in undefined), *((name, 1) for name in exports)]:
        name, mark, version = text.partition("@")
        number = marks[version.lstrip("@")] if mark else 1
        if section and mark and not version.startswith("@"):
            number |= 0x8000
        # What is given lies at the start of the file in memory: an object, never to be called.
        rows.append((strings.add(name), _BASE if section else 0, 0x11, section, number, name))
    return rows


def _verneed(
    word: _Words,
    needs: Mapping[str, Sequence[str]],
    weak: Sequence[str],
    marks: Mapping[str, int],
    strings: _Strings,
    *,
    endless: bool,
) -> bytes:
    data = b""
    for number, (library, names) in enumerate(needs.items()):
        last = number == len(needs) - 1 and not endless
        step = 0 if last else 16 * (1 + len(names))
        data += word.pack("HHIII", 1, len(names), strings.add(library), 16, step)
        for index, name in enumerate(names):
            after = 0 if index == len(names) - 1 else 16
            flags = 2 if name in weak else 0
            data += word.pack(
                "IHHII", _elf_hash(name), flags, marks[name], strings.add(name), after
            )
    return data


def _verdef(word: _Words, defines: Sequence[str], soname: str, strings: _Strings) -> bytes:
    data = b""
    for number, name in enumerate([soname, *defines], start=1):
        step = 0 if number == len(defines) + 1 else 28
        flags = 1 if number == 1 else 0
        data += word.pack("HHHHIII", 1, flags, number, 1, _elf_hash(name), 20, step)
        data += word.pack("II", strings.add(name), 0)
    return data


def _elf_hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        value ^= (value & 0xF000_0000) >> 24
        value &= 0x0FFF_FFFF
    return value


def _hash(word: _Words, symbols: Sequence[_Row]) -> bytes:
    """A table with one bucket, whose chain has every symbol."""
    count = len(symbols)
    chain = [0, *(index + 1 if index + 1 < count else 0 for index in range(1, count))]
    return word.pack(f"{3 + count}I", 1, count, 1 if count > 1 else 0, *chain)


def _gnu_hash(word: _Words, symbols: Sequence[_Row], undefined: int) -> bytes:
    """The same in GNU's form, in which only what is given stands; a full filter lets all pass."""
    first, count = 1 + undefined, len(symbols)
    given = [row[5] for row in symbols[first:]]
    hashes = [_gnu(name) & ~1 for name in given]
    if hashes:
        hashes[-1] |= 1
    full = (1 << 64) - 1 if word.wide else (1 << 32) - 1
    bucket = first if given else 0
    # Binutils writes 1 as the first symbol of an empty table, however many there are.
    start = first if count > first else 1
    return word.pack(f"IIIIPI{len(hashes)}I", 1, start, 1, 0, full, bucket, *hashes)


def _gnu(name: str) -> int:
    value = 5381
    for byte in name.encode():
        value = value * 33 + byte & 0xFFFF_FFFF
    return value


# Type, the section it refers to, its number of local entries, and the size of an entry.
_SECTION_FACTS = {
    ".dynstr": (3, "", 0, 0), ".dynsym": (11, ".dynstr", 1, -1), ".hash": (5, ".dynsym", 0, 4),
    ".gnu.hash": (0x6FFFFFF6, ".dynsym", 0, 0), ".gnu.version": (0x6FFFFFFF, ".dynsym", 0, 2),
    ".gnu.version_r": (0x6FFFFFFE, ".dynstr", -2, 0),
    ".gnu.version_d": (0x6FFFFFFD, ".dynstr", -2, 0), ".dynamic": (6, ".dynstr", 0, -3),
    ".note.gnu.build-id": (7, "", 0, 0), ".rela.dyn": (4, ".dynsym", 0, 24),
}  # fmt: skip


def _sections(
    word: _Words,
    own: Mapping[str, bytes],
    places: Mapping[str, tuple[int, int]],
    extra: Mapping[str, bytes],
    start: int,
) -> tuple[bytes, bytes, int]:
    if not own and not extra:
        return b"", b"", 0
    names = _Strings()
    order = {name: number for number, name in enumerate(own, start=1)}
    rows = [(0, 0, 0, 0, 0, 0, 0, 0, 0)]
    for name, content in own.items():
        kind, link, info, entry = _SECTION_FACTS.get(name, (1, "", 0, 0))
        size = {-1: 24 if word.wide else 16, -3: 16 if word.wide else 8}.get(entry, entry)
        rows.append((
            names.add(name), kind, 2, _BASE + places[name][0], places[name][0], len(content),
            order.get(link, 0), _records(word, content) if info == -2 else info, size,
        ))  # fmt: skip
    contents = b""
    for name, content in extra.items():
        rows.append((names.add(name), 1, 2, 0, start + len(contents), len(content), 0, 0, 0))
        contents += content
    at = names.add(".shstrtab")
    rows.append((at, 3, 0, 0, start + len(contents), len(names.data), 0, 0, 0))
    contents += bytes(names.data)
    table = b"".join(word.pack("IIPPPPIIPP", *row[:6], row[6], row[7], 1, row[8]) for row in rows)
    return contents, table, len(rows)


def _records(word: _Words, content: bytes) -> int:
    """How many records a list of versions has, by its steps."""
    count, at, order = 0, 0, "big" if word.big else "little"
    wide = int.from_bytes(content[4:6], order) == 1 and int.from_bytes(content[6:8], order) == 1
    field = 16 if wide else 12
    while at < len(content):
        count += 1
        step = int.from_bytes(content[at + field : at + field + 4], order)
        if not step:
            break
        at += step
    return count
