"""Of a PE file's resources, the two that matter here: its version and its manifest.

Layouts: Microsoft's *PE Format*, "The .rsrc Section", and *VS_VERSIONINFO structure*.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from vvbuild.binary.pe_image import RESOURCES, Image
from vvbuild.binary.source import Malformed

_VERSION, _MANIFEST = 16, 24
_DIRECTORY, _ENTRY, _DATA = struct.Struct("<12xHH"), struct.Struct("<II"), struct.Struct("<III")
_BELOW = 0x8000_0000
# Type, name and language: no resource lies deeper.
_DEPTH = 3
_MOST_ENTRIES = 4096
_MOST_VERSION_BYTES, _MOST_MANIFEST_BYTES = 1 << 16, 1 << 20
# A block of the version resource: its length, the length of its value, its kind, its key.
_BLOCK = struct.Struct("<HHH")
_FIXED = struct.Struct("<II8H")
_FIXED_MAGIC = 0xFEEF04BD
_MOST_STRINGS = 256


@dataclass(frozen=True, slots=True)
class Resources:
    """Version numbers, the words beside them (``ProductName``), and the manifest's bytes."""

    file_version: str | None = None
    product_version: str | None = None
    strings: dict[str, str] = field(default_factory=dict)
    manifest: bytes | None = None


def read_resources(image: Image) -> Resources | None:
    """The version and the manifest of a file, ``None`` if it has no resources at all.

    Of several languages the first counts.
    """
    directory = image.directory(RESOURCES)
    if directory is None:
        return None
    root = directory[0]
    version = _data(image, root, _VERSION, _MOST_VERSION_BYTES)
    manifest = _data(image, root, _MANIFEST, _MOST_MANIFEST_BYTES)
    if version is None:
        return Resources(manifest=manifest)
    numbers, strings = _read_version(version)
    return Resources(*numbers, strings, manifest)


def _data(image: Image, root: int, kind: int, most: int) -> bytes | None:
    """The first resource of that kind."""
    offsets = (offset for number, offset in _entries(image, root, 0) if number == kind)
    offset = next(offsets, None)
    for _ in range(_DEPTH - 1):
        if offset is None or not offset & _BELOW:
            break
        _, offset = next(_entries(image, root, offset & ~_BELOW), (0, None))
    if offset is None:
        return None
    if offset & _BELOW:
        raise Malformed("its resources lie deeper than type, name and language")
    address, size, _ = _DATA.unpack(image.at(root + offset, _DATA.size, "a resource"))
    if size > most:
        raise Malformed(f"a resource of {size} bytes stands where {most} are the most")
    return image.at(address, size, "a resource")


def _entries(image: Image, root: int, offset: int) -> Iterator[tuple[int, int]]:
    what = "a directory of resources"
    names, numbers = _DIRECTORY.unpack(image.at(root + offset, _DIRECTORY.size, what))
    if names + numbers > _MOST_ENTRIES:
        raise Malformed(f"{what} has {names + numbers} entries")
    for count in range(names + numbers):
        at = root + offset + _DIRECTORY.size + count * _ENTRY.size
        yield _ENTRY.unpack(image.at(at, _ENTRY.size, what))


def _read_version(data: bytes) -> tuple[tuple[str | None, str | None], dict[str, str]]:
    key, value, children = _block(data)
    if key != "VS_VERSION_INFO":
        raise Malformed(f"its version resource is called {key[:40]!r}")
    numbers: tuple[str | None, str | None] = (None, None)
    if len(value) >= _FIXED.size:
        magic, _, *words = _FIXED.unpack_from(value)
        if magic == _FIXED_MAGIC:
            numbers = (_dotted(words[:4]), _dotted(words[4:]))
    strings: dict[str, str] = {}
    for name, _, tables in _blocks(children):
        if name == "StringFileInfo":
            for _, _, rows in _blocks(tables):
                for word, said, _ in _blocks(rows):
                    strings.setdefault(word, _text(said).rstrip("\0"))
    if len(strings) > _MOST_STRINGS:
        raise Malformed(f"its version resource has {len(strings)} words")
    return numbers, strings


def _dotted(words: list[int]) -> str:
    # The numbers stand as two times (low half, high half) of 32 bits.
    second, first, fourth, third = words
    return f"{first}.{second}.{third}.{fourth}"


def _blocks(data: bytes) -> Iterator[tuple[str, bytes, bytes]]:
    while len(data) >= _BLOCK.size:
        length = int.from_bytes(data[:2], "little")
        if length == 0:
            return
        yield _block(data)
        data = data[_aligned(length) :]


def _block(data: bytes) -> tuple[str, bytes, bytes]:
    """Key, value and children of the block that begins the data."""
    if len(data) < _BLOCK.size:
        raise Malformed("its version resource was cut off")
    length, value_length, is_text = _BLOCK.unpack_from(data)
    data = data[:length]
    end = _BLOCK.size
    while data[end : end + 2] not in (b"\0\0", b""):
        end += 2
    key = _text(data[_BLOCK.size : end])
    start = _aligned(end + 2)
    # The length of text counts characters; some compilers count its bytes.
    size = value_length * (2 if is_text == 1 else 1)
    return key, data[start : start + size], data[_aligned(start + size) :]


def _aligned(offset: int) -> int:
    return (offset + 3) & ~3


def _text(raw: bytes) -> str:
    return raw.decode("utf-16-le", "backslashreplace")
