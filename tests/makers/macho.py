"""Writes small Mach-O files, thin and fat, signed or not, without Apple's tools.

``make_macho(path, install_name="@rpath/liba.dylib", dependencies=["/usr/lib/libSystem.B.dylib"],
minimum_os="13.4", signature="adhoc")`` writes one and returns the path; ``make_fat`` joins what
``macho_bytes`` gives.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from pathlib import Path

CPUS = {
    "x86": (7, 3),
    "x64": (0x0100_0007, 3),
    "arm64": (0x0100_000C, 0),
    "arm64e": (0x0100_000C, 2),
}
KINDS = {"object": 1, "execute": 2, "dylib": 6, "bundle": 8}
PLATFORMS = {"macos": 1, "ios": 2, "maccatalyst": 6}
_DEPENDENCIES = {
    "load": 0xC, "weak": 0x8000_0018, "reexport": 0x8000_001F, "lazy": 0x20, "upward": 0x8000_0023,
}  # fmt: skip
_HASHES = {"sha1": (1, 20), "sha256": (2, 32), "sha256-short": (3, 20), "sha384": (4, 48)}
_AD_HOC, _RUNTIME, _LINKER_SIGNED = 0x2, 0x1_0000, 0x2_0000
_PAGE = 4096
_TEXT = 0x4000


def make_macho(path: Path, **facts: object) -> Path:
    """Write a file with the facts of :func:`macho_bytes`; folders are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(macho_bytes(**facts))  # type: ignore[arg-type]
    return path


def make_fat(path: Path, slices: Sequence[bytes], *, fat64: bool = False) -> Path:
    """Write a fat file of some slices, each the bytes of a thin file (or of a static library,
    which then is said to be for arm64)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(fat_bytes(slices, fat64=fat64))
    return path


def fat_bytes(slices: Sequence[bytes], *, fat64: bool = False) -> bytes:
    """The bytes of a fat file; each slice begins at a multiple of 16 KiB, as lipo lays it."""
    layout = struct.Struct(">IIQQII" if fat64 else ">IIIII")
    head = struct.pack(">II", 0xCAFE_BABF if fat64 else 0xCAFE_BABE, len(slices))
    body, at = b"", 0x4000
    for data in slices:
        body = body.ljust(at - 0x4000, b"\0") + data
        thin = data[:1] in (b"\xcf", b"\xce")
        cpu, subtype = struct.unpack_from("<II", data, 4) if thin else CPUS["arm64"]
        head += layout.pack(*(cpu, subtype, at, len(data), 14, *([0] if fat64 else [])))
        at = -(-(at + len(data)) // 0x4000) * 0x4000
    return head.ljust(0x4000, b"\0") + body


def macho_bytes(
    *,
    cpu: str = "arm64",
    kind: str = "dylib",
    install_name: str | None = None,
    version: str = "1.0.0",
    compatibility_version: str = "1.0.0",
    dependencies: Sequence[str | tuple[str, str]] = (),
    rpaths: Sequence[str] = (),
    minimum_os: str | None = "11.0",
    platform: str = "macos",
    sdk: str | None = "14.0",
    old_minimum: bool = False,
    uuid: bytes | None = None,
    exports: Sequence[str] = (),
    undefined: Sequence[str | tuple[str, int]] = (),
    signature: str | None = None,
    hashes: Sequence[str] = ("sha256",),
    identifier: str = "made",
    team: str | None = None,
    code: bytes = b"",
    trailing: bytes = b"",
    flags: int = 0x85,
    modern_flags: bool = False,
) -> bytes:
    """The bytes of a thin, little-endian file.

    A dependency is a name, or a name and its kind (``weak``, ``reexport``, ``upward``,
    ``lazy``); ``modern_flags`` says that by flags, as since macOS 15. ``minimum_os`` goes into
    LC_BUILD_VERSION, or with ``old_minimum`` into LC_VERSION_MIN_MACOSX. Symbols are given
    without their underscore; an undefined one may come with the number of its library.
    ``signature``: ``adhoc``, ``linker`` (ad hoc, by a linker), ``certified`` (with something in
    place of a certificate), ``stale`` (ad hoc, then a byte of the first page was changed),
    ``short`` (it does not cover the last page), ``broken`` (zeros). ``code`` fills ``__text``.
    """
    bits = 32 if cpu == "x86" else 64
    commands: list[bytes] = []
    if install_name is not None:
        commands.append(_library(0xD, install_name, version, compatibility_version))
    for dependency in dependencies:
        name, how = (dependency, "load") if isinstance(dependency, str) else dependency
        commands.append(_dependency(name, how, modern=modern_flags))
    commands += [_command(0x8000_001C, "I", 12, text=path) for path in rpaths]
    if minimum_os is not None:
        lowest, built = _packed(minimum_os), _packed(sdk) if sdk else 0
        if old_minimum:
            commands.append(_command(0x24, "II", lowest, built))
        else:
            commands.append(_command(0x32, "IIII", PLATFORMS[platform], lowest, built, 0))
    if uuid is not None:
        commands.append(_command(0x1B, "")[:4] + struct.pack("<I", 24) + uuid)

    trie = _trie(exports)
    symbols, names = _symbols(exports, undefined, bits)
    linkedit = trie + symbols + names
    header = 32 if bits == 64 else 28
    text_size = max(_TEXT, -(-(0x1000 + len(code)) // _TEXT) * _TEXT)
    at_symbols, at_names = text_size + len(trie), text_size + len(trie) + len(symbols)
    signature_at = -(-(text_size + len(linkedit)) // 16) * 16
    signed = signature is not None
    size = _signature_size(signature_at, hashes, identifier, team, signature) if signed else 0
    number = len(exports) + len(undefined)
    commands += [
        _segment(bits, "__TEXT", 0, text_size),
        _segment(bits, "__LINKEDIT", text_size, signature_at + size - text_size),
        _command(0x2, "IIII", at_symbols, number, at_names, len(names)),
        _command(0xB, "6I12I", 0, 0, 0, len(exports), len(exports), len(undefined), *[0] * 12),
        _command(0x8000_0033, "II", text_size, len(trie)),
    ]
    if signed:
        commands.append(_command(0x1D, "II", signature_at, size))
    joined = b"".join(commands)
    number_of, subtype = CPUS[cpu]
    head = struct.pack(
        "<7I", 0xFEED_FACF if bits == 64 else 0xFEED_FACE, number_of, subtype, KINDS[kind],
        len(commands), len(joined), flags,
    ).ljust(header, b"\0")  # fmt: skip
    if len(head + joined) > 0x1000:
        raise ValueError("more load commands than there is room for")
    text = ((head + joined).ljust(0x1000, b"\0") + code).ljust(text_size, b"\0")
    image = (text + linkedit).ljust(signature_at, b"\0")
    if signature is not None:
        image = _signed(image, signature, hashes, identifier, team, size)
    return image + trailing


def _signed(
    image: bytes, how: str, hashes: Sequence[str], identifier: str, team: str | None, size: int
) -> bytes:
    if how == "broken":
        return image + bytes(size)
    covered = image[:-_PAGE] if how == "short" else image
    data = _signature(covered, hashes, identifier, team, how).ljust(size, b"\0")
    if how == "stale":
        image = image[:0x800] + bytes([image[0x800] ^ 0xFF]) + image[0x801:]
    return image + data


def _signature_size(
    limit: int, hashes: Sequence[str], identifier: str, team: str | None, how: str | None
) -> int:
    size = len(_signature(bytes(limit), hashes, identifier, team, how or "adhoc"))
    return -(-size // 16) * 16


def _signature(
    image: bytes, hashes: Sequence[str], identifier: str, team: str | None, how: str
) -> bytes:
    requirements = struct.pack(">III", 0xFADE_0C01, 12, 0)
    flags = {"linker": _AD_HOC | _LINKER_SIGNED, "certified": _RUNTIME}.get(how, _AD_HOC)
    blobs = []
    for index, name in enumerate(hashes):
        slot = 0 if index == 0 else 0x1000 + index - 1
        blobs.append((slot, _directory(image, name, identifier, team, flags, requirements)))
    blobs.append((2, requirements))
    certificate = b"a certificate" if how == "certified" else b""
    blobs.append((0x1_0000, struct.pack(">II", 0xFADE_0B01, 8 + len(certificate)) + certificate))
    at = 12 + 8 * len(blobs)
    index_bytes, content = b"", b""
    for slot, blob in blobs:
        index_bytes += struct.pack(">II", slot, at + len(content))
        content += blob
    return struct.pack(">III", 0xFADE_0CC0, at + len(content), len(blobs)) + index_bytes + content


def _directory(
    image: bytes, name: str, identifier: str, team: str | None, flags: int, requirements: bytes
) -> bytes:
    number, kept = _HASHES[name]
    algorithm = name.partition("-")[0]

    def digest(data: bytes) -> bytes:
        return hashlib.new(algorithm, data).digest()[:kept]

    texts = identifier.encode() + b"\0"
    team_at = 88 + len(texts) if team else 0
    texts += team.encode() + b"\0" if team else b""
    specials = digest(requirements) + bytes(kept)
    pages = [digest(image[at : at + _PAGE]) for at in range(0, len(image), _PAGE)]
    at = 88 + len(texts) + len(specials)
    length = at + len(pages) * kept
    head = struct.pack(
        ">9I4BI", 0xFADE_0C02, length, 0x2_0400, flags, at, 88, 2, len(pages), len(image),
        kept, number, 0, 12, 0,
    )  # fmt: skip
    head += struct.pack(">II", 0, team_at) + struct.pack(">IQQQQ", 0, 0, 0, 0, 0)
    return head + texts + specials + b"".join(pages)


def _command(kind: int, fields: str, *values: int, text: str = "") -> bytes:
    data = struct.pack("<" + fields, *values) + (text.encode() + b"\0" if text else b"")
    data = data.ljust(-(-len(data) // 8) * 8, b"\0")
    return struct.pack("<II", kind, 8 + len(data)) + data


def _library(kind: int, name: str, current: str, compatible: str) -> bytes:
    return _command(kind, "IIII", 24, 2, _packed(current), _packed(compatible), text=name)


def _dependency(name: str, how: str, *, modern: bool) -> bytes:
    if not modern:
        return _library(_DEPENDENCIES[how], name, "1.2.3", "1.0.0")
    bits = {"load": 0, "weak": 1, "reexport": 2, "upward": 4, "lazy": 8}[how]
    kind = 0x8000_0018 if how == "weak" else 0xC
    return _command(kind, "IIIII", 28, 0x1A74_1800, 0x1_0203, 0x1_0000, bits, text=name)


def _segment(bits: int, name: str, offset: int, size: int) -> bytes:
    word = "Q" if bits == 64 else "I"
    data = name.encode().ljust(16, b"\0") + struct.pack(
        f"<4{word}4I", offset, -(-size // _TEXT) * _TEXT, offset, size, 5, 5, 0, 0
    )
    return struct.pack("<II", 0x19 if bits == 64 else 0x1, 8 + len(data)) + data


def _symbols(
    exports: Sequence[str], undefined: Sequence[str | tuple[str, int]], bits: int
) -> tuple[bytes, bytes]:
    names, rows = b"\0", b""
    layout = "<IBBHQ" if bits == 64 else "<IBBHI"
    for name in exports:
        rows += struct.pack(layout, len(names), 0x0F, 1, 0, 0x1000)
        names += b"_" + name.encode() + b"\0"
    for entry in undefined:
        name, library = (entry, 1) if isinstance(entry, str) else entry
        rows += struct.pack(layout, len(names), 0x01, 0, library << 8, 0)
        names += b"_" + name.encode() + b"\0"
    return rows, names.ljust(-(-len(names) // 8) * 8, b"\0")


def _trie(exports: Sequence[str]) -> bytes:
    """A root with one child for each name: no prefix is shared, which is allowed."""
    if not exports:
        return b"\0" * 8
    names = [b"_" + name.encode() + b"\0" for name in exports]
    leaf = bytes([3, 0, 0x80, 0x20, 0])  # three bytes of facts: flags 0, address 0x1000; no child
    root = 2 + sum(len(name) + 2 for name in names)
    data = bytes([0, len(names)])
    for index, name in enumerate(names):
        at = root + index * len(leaf)
        data += name + bytes([at & 0x7F | 0x80, at >> 7])
    data += leaf * len(names)
    return data.ljust(-(-len(data) // 8) * 8, b"\0")


def _packed(version: str) -> int:
    major, minor, patch = ([int(part) for part in version.split(".")] + [0, 0])[:3]
    return major << 16 | minor << 8 | patch
