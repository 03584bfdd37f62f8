"""Writes small PE files that tell what a test wants them to tell.

``make_pe(path, imports={"KERNEL32.dll": ["Sleep"]}, values={"NvOptimusEnablement": 1})`` writes
one and returns the path; ``pe_bytes`` gives the bytes. Windows would not run them: there is no
code in them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

MACHINES = {"x86": 0x14C, "x64": 0x8664, "arm64": 0xAA64}
SUBSYSTEMS = {"windows": 2, "console": 3}
# Addresses differ from offsets, so that a reader that mixes them up is found out.
_HEADERS, _FIRST, _PAGE = 0x600, 0x1_0000, 0x1000
_CODE, _DATA = 0x6000_0020, 0xC000_0040
_EXPORTS, _IMPORTS, _RESOURCES, _CERTIFICATES, _DELAYED = 0, 1, 2, 4, 13
_BELOW = 0x8000_0000

Imports = Mapping[str, Sequence[str | int]]


def make_pe(path: Path, **facts: object) -> Path:
    """Write a file with the facts of :func:`pe_bytes`; folders are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pe_bytes(**facts))  # type: ignore[arg-type]
    return path


def pe_bytes(
    *,
    machine: str | int = "x64",
    subsystem: str | int = "console",
    dll: bool = False,
    imports: Imports | Sequence[str] = (),
    delay_imports: Imports | Sequence[str] = (),
    exports: Sequence[str] = (),
    forwards: Mapping[str, str] | None = None,
    values: Mapping[str, int] | None = None,
    library: str = "made.dll",
    version: str | None = None,
    strings: Mapping[str, str] | None = None,
    manifest: bytes | None = None,
    linker: tuple[int, int] = (14, 38),
    timestamp: int = 0,
    signature: bytes | None = None,
    sections: Mapping[str, bytes] | None = None,
    data: bytes = b"",
) -> bytes:
    """The bytes of a file.

    ``imports`` and ``delay_imports`` map a DLL to what is taken from it, names or numbers.
    ``exports`` are functions, ``values`` exported 32-bit variables, ``forwards`` maps an export
    to what it stands for. ``version`` (``1.2.3.4``) is that of file and product; ``strings`` are
    the words beside it. ``signature`` is the body of a certificate, ``sections`` adds sections
    with that content, ``data`` is appended behind everything, as PyInstaller does.
    """
    bits = 32 if machine == "x86" else 64
    room = _Room(_FIRST, bits)
    directories: dict[int, tuple[int, int]] = {}
    if imports:
        directories[_IMPORTS] = _write_imports(room, _listed(imports))
    if delay_imports:
        directories[_DELAYED] = _write_delayed(room, _listed(delay_imports))
    forwards, values = forwards or {}, values or {}
    if exports or forwards or values:
        directories[_EXPORTS] = _write_exports(room, library, exports, forwards, values)
    if version is not None or strings or manifest is not None:
        text = _version(version, strings or {}) if version is not None or strings else None
        directories[_RESOURCES] = _write_resources(room, {16: text, 24: manifest})
    parts = {".text": b"\xc3", ".data": bytes(room.data)} | dict(sections or {})
    body, table = _laid_out(parts)
    if signature is not None:
        padded = signature.ljust(-(-len(signature) // 8) * 8, b"\0")
        certificate = struct.pack("<IHH", 8 + len(padded), 0x200, 2) + padded
        directories[_CERTIFICATES] = (_HEADERS + len(body), len(certificate))
        body += certificate
    number = MACHINES[machine] if isinstance(machine, str) else machine
    flags = 0x22 | (0x2000 if dll else 0)
    window = SUBSYSTEMS[subsystem] if isinstance(subsystem, str) else subsystem
    optional = _optional(bits, linker, window, directories)
    head = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0"
    head += struct.pack("<HHIIIHH", number, len(parts), timestamp, 0, 0, len(optional), flags)
    head += optional + table
    assert len(head) <= _HEADERS
    return head.ljust(_HEADERS, b"\0") + body + data


class _Room:
    """The content of a section: what is put in has an address."""

    def __init__(self, address: int, bits: int) -> None:
        self.address = address + _PAGE  # behind .text
        self.bits = bits
        self.data = bytearray(b"\0" * 16)

    def put(self, data: bytes, align: int = 8) -> int:
        self.data += b"\0" * (-len(self.data) % align)
        self.data += data
        return self.address + len(self.data) - len(data)

    def name(self, text: str) -> int:
        return self.put(text.encode() + b"\0", 1)

    def words(self, values: Sequence[int]) -> int:
        return self.put(struct.pack(f"<{len(values)}{'Q' if self.bits == 64 else 'I'}", *values))


def _listed(imports: Imports | Sequence[str]) -> Imports:
    return imports if isinstance(imports, Mapping) else {name: ["something"] for name in imports}


def _lookup(room: _Room, functions: Sequence[str | int]) -> int:
    by_number = 1 << (room.bits - 1)
    rows = [
        by_number | each if isinstance(each, int) else room.put(b"\0\0" + each.encode() + b"\0", 2)
        for each in functions
    ]
    return room.words([*rows, 0])


def _write_imports(room: _Room, imports: Imports) -> tuple[int, int]:
    rows = b""
    for dll, functions in imports.items():
        name, lookup, first = room.name(dll), _lookup(room, functions), _lookup(room, functions)
        rows += struct.pack("<IIIII", lookup, 0, 0, name, first)
    rows += bytes(20)
    return room.put(rows), len(rows)


def _write_delayed(room: _Room, imports: Imports) -> tuple[int, int]:
    rows = b""
    for dll, functions in imports.items():
        name, lookup = room.name(dll), _lookup(room, functions)
        rows += struct.pack("<IIIIIIII", 1, name, 0, lookup, lookup, 0, 0, 0)
    rows += bytes(32)
    return room.put(rows), len(rows)


def _write_exports(
    room: _Room,
    library: str,
    functions: Sequence[str],
    forwards: Mapping[str, str],
    values: Mapping[str, int],
) -> tuple[int, int]:
    places = dict.fromkeys(functions, _FIRST)
    places |= {name: room.put(struct.pack("<I", value), 4) for name, value in values.items()}
    order = sorted([*places, *forwards])
    names = room.put(b"".join(struct.pack("<I", room.name(each)) for each in order), 4)
    ordinals = room.put(struct.pack(f"<{len(order)}H", *range(len(order))), 2)
    own = room.name(library)
    addresses = room.put(bytes(4 * len(order)), 4)
    # Texts of forwarded exports lie within the directory's range, by which they are known.
    start = room.put(bytes(40))
    for row, name in enumerate(order):
        place = room.name(forwards[name]) if name in forwards else places[name]
        at = addresses - room.address + 4 * row
        room.data[at : at + 4] = struct.pack("<I", place)
    directory = struct.pack(
        "<IIHHIIIIIII", 0, 0, 0, 0, own, 1, len(order), len(order), addresses, names, ordinals
    )
    at = start - room.address
    room.data[at : at + 40] = directory
    return start, room.address + len(room.data) - start


def _write_resources(room: _Room, resources: Mapping[int, bytes | None]) -> tuple[int, int]:
    there = {kind: data for kind, data in resources.items() if data is not None}
    places = {kind: (room.put(data), len(data)) for kind, data in there.items()}
    # Type, name, language: each a directory of one row, but for the first.
    header = 16 + 8 * len(there)
    size = header + len(there) * (24 + 24 + 16)
    root, tables, at = struct.pack("<12xHH", 0, len(there)), b"", header
    for kind, place in places.items():
        root += struct.pack("<II", kind, _BELOW | at)
        tables += struct.pack("<12xHHII", 0, 1, 1, _BELOW | (at + 24))
        tables += struct.pack("<12xHHII", 0, 1, 1033, at + 48)
        tables += struct.pack("<IIII", *place, 0, 0)
        at += 64
    return room.put(root + tables), size


def _version(version: str | None, strings: Mapping[str, str]) -> bytes:
    fixed = b""
    if version is not None:
        one, two, three, four = (int(part) for part in version.split("."))
        numbers = struct.pack("<HHHH", two, one, four, three)
        fixed = struct.pack("<II", 0xFEEF04BD, 0x10000) + numbers * 2 + bytes(28)
    rows = b"".join(
        _block(word, (said + "\0").encode("utf-16-le"), b"", len(said) + 1)
        for word, said in strings.items()
    )
    table = _block("040904b0", b"", rows)
    info = _block("StringFileInfo", b"", table) if strings else b""
    return _block("VS_VERSION_INFO", fixed, info)


def _block(key: str, value: bytes, children: bytes, characters: int | None = None) -> bytes:
    head = (key + "\0").encode("utf-16-le")
    head += b"\0" * (-(6 + len(head)) % 4)
    body = head + value
    if children:
        body += b"\0" * (-(6 + len(body)) % 4) + children
    length = characters if characters is not None else len(value)
    block = struct.pack("<HHH", 6 + len(body), length, characters is not None) + body
    return block + b"\0" * (-len(block) % 4)


def _laid_out(parts: Mapping[str, bytes]) -> tuple[bytes, bytes]:
    body, table, address = b"", b"", _FIRST
    for name, content in parts.items():
        padded = content.ljust(-(-len(content) // 512) * 512, b"\0")
        flags = _CODE if name == ".text" else _DATA
        table += struct.pack(
            "<8sIIII12xI", name.encode()[:8], len(content), address, len(padded),
            _HEADERS + len(body), flags,
        )  # fmt: skip
        body += padded
        address += -(-max(1, len(content)) // _PAGE) * _PAGE
    return body, table


def _optional(
    bits: int, linker: tuple[int, int], subsystem: int, directories: Mapping[int, tuple[int, int]]
) -> bytes:
    wide = bits == 64
    head = struct.pack("<HBB", 0x20B if wide else 0x10B, *linker).ljust(40, b"\0")
    head += struct.pack("<HHHHHHI", 6, 0, 0, 0, 6, 0, 0)
    head += struct.pack("<IIIHH", 0x100_0000, _HEADERS, 0, subsystem, 0x160)
    head = head.ljust(108 if wide else 92, b"\0") + struct.pack("<I", 16)
    return head + b"".join(struct.pack("<II", *directories.get(row, (0, 0))) for row in range(16))
