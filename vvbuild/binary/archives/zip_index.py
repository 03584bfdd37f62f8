"""The table of contents of a zip, read strictly (PKWARE's APPNOTE 6.3, §4.3).

The standard library's reader forgives what two readers could understand differently; here a
zip has exactly one meaning, or it is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

_END = struct.Struct("<4s4H2IH")
_END64_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQ2H2I4Q")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
LOCAL = struct.Struct("<4s5H3I2H")
_LONGEST_COMMENT = 0xFFFF
_LARGEST_TABLE = 1 << 20
# Kinds of extra fields: 64-bit sizes, and Info-ZIP's name in UTF-8.
_WIDE, _UNICODE_NAME = 1, 0x7075
_NONE32, _NONE16 = 0xFFFFFFFF, 0xFFFF
ENCRYPTED, STREAMED, UTF8 = 0x1, 0x8, 0x800


class ZipError(Exception):
    """What is wrong with a zip; ``member`` where it is one member's fault."""

    def __init__(self, what: str, member: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.member = member


class Member(NamedTuple):
    """An entry of the table. ``end`` is the first byte that belongs to something else."""

    name: str
    raw_name: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    mode: int
    offset: int
    end: int = 0

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory, by its name."""
        return self.name.endswith("/")


@dataclass(frozen=True, slots=True)
class _Table:
    offset: int
    size: int
    count: int


def read_index(stream: BinaryIO, size: int, most: int) -> list[Member]:
    """The members in the order of their bytes. Raises :class:`ZipError`.

    ``size`` is the archive's, ``most`` the most members that are worth reading.
    """
    table = _find_table(stream, size)
    if table.count > most:
        raise ZipError(f"it has more than {most} members")
    if table.size > max(_LARGEST_TABLE, most * 512):
        raise ZipError("its table of contents is absurdly large")
    stream.seek(table.offset)
    data = stream.read(table.size)
    rows = sorted(_rows(data, table.count), key=lambda row: row.offset)
    ends = [*(row.offset for row in rows), table.offset][1:]
    members = []
    for row, end in zip(rows, ends, strict=True):
        if row.offset + LOCAL.size + len(row.raw_name) + row.packed > end:
            raise ZipError("overlaps another member or the table of contents", row.name)
        members.append(row._replace(end=end))
    return members


def _find_table(stream: BinaryIO, size: int) -> _Table:
    tail_size = min(size, _END.size + _LONGEST_COMMENT)
    stream.seek(size - tail_size)
    tail = stream.read(tail_size)
    found = [
        position
        for position in _positions(tail, b"PK\x05\x06")
        if position + _END.size <= len(tail)
        and position + _END.size + _END.unpack_from(tail, position)[7] == len(tail)
    ]
    if len(found) != 1:
        raise ZipError("it has no end record" if not found else "it has more than one end record")
    _, disk, first_disk, here, count, length, offset, _ = _END.unpack_from(tail, found[0])
    end = size - tail_size + found[0]
    if disk or first_disk or here != count:
        raise ZipError("it is split into several files")
    narrow = _Table(offset, length, count)
    table, end = _widen(stream, narrow, end)
    if table.offset + table.size != end:
        raise ZipError("its table of contents is not where it should be")
    return table


def _widen(stream: BinaryIO, narrow: _Table, end: int) -> tuple[_Table, int]:
    """The table by the 64-bit records, if there are any; they must agree with the narrow one."""
    locator_at = end - _END64_LOCATOR.size
    if locator_at < 0:
        return narrow, end
    stream.seek(locator_at)
    signature, _, at, disks = _END64_LOCATOR.unpack(stream.read(_END64_LOCATOR.size))
    if signature != b"PK\x06\x07":
        return narrow, end
    if disks > 1 or at + _END64.size != locator_at:
        raise ZipError("its 64-bit end record is not where it should be")
    stream.seek(at)
    values = _END64.unpack(stream.read(_END64.size))
    if values[0] != b"PK\x06\x06" or values[4] or values[5] or values[6] != values[7]:
        raise ZipError("its 64-bit end record is damaged")
    wide = _Table(values[9], values[8], values[7])
    for narrower, wider, absent in (
        (narrow.count, wide.count, _NONE16),
        (narrow.size, wide.size, _NONE32),
        (narrow.offset, wide.offset, _NONE32),
    ):
        if narrower not in (wider, absent):
            raise ZipError("its end records contradict each other")
    return wide, at


def _rows(data: bytes, count: int) -> Iterator[Member]:
    at = 0
    for _ in range(count):
        if at + _CENTRAL.size > len(data) or data[at : at + 4] != b"PK\x01\x02":
            raise ZipError("its table of contents is damaged")
        (_, _, _, flags, method, _, _, crc, packed, size, name_length, extra_length,
         comment_length, disk, _, attributes, offset) = _CENTRAL.unpack_from(data, at)  # fmt: skip
        at += _CENTRAL.size
        raw_name = data[at : at + name_length]
        extra = data[at + name_length : at + name_length + extra_length]
        at += name_length + extra_length + comment_length
        name = _decode(raw_name, flags)
        if disk not in (0, _NONE16):
            raise ZipError("lies on another disk", name)
        check_second_name(extra, raw_name, name)
        size, packed, offset = widen(extra, (size, packed, offset), name)
        yield Member(name, raw_name, flags, method, crc, packed, size, attributes >> 16, offset)
    if at != len(data):
        raise ZipError("its table of contents is longer than its members")


def _decode(raw: bytes, flags: int) -> str:
    """A name's text. Without the UTF-8 flag nobody knows the encoding: UTF-8 or nothing."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        said = "is not the UTF-8 that it says" if flags & UTF8 else "is in an unknown encoding"
        raise ZipError(f"has a name that {said}", raw.decode("latin-1")) from None


def check_second_name(extra: bytes, raw_name: bytes, name: str) -> None:
    """Info-ZIP's field 0x7075 holds the name once more, and some readers prefer it."""
    for kind, field in _fields(extra):
        if kind == _UNICODE_NAME and field[5:] != raw_name:
            raise ZipError("has two names", name)


def _fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        yield kind, extra[at + 4 : at + 4 + length]
        at += 4 + length


def widen(extra: bytes, values: tuple[int, ...], name: str) -> tuple[int, ...]:
    """Replace values that are all ones by those of the 64-bit extra field (id 1), in order."""
    if _NONE32 not in values:
        return values
    for kind, field in _fields(extra):
        if kind == _WIDE:
            needed = values.count(_NONE32)
            if len(field) < needed * 8:
                break
            wide = iter(struct.unpack_from(f"<{needed}Q", field))
            return tuple(next(wide) if value == _NONE32 else value for value in values)
    raise ZipError("lacks its 64-bit sizes", name)


def _positions(data: bytes, mark: bytes) -> Iterator[int]:
    at = data.find(mark)
    while at >= 0:
        yield at
        at = data.find(mark, at + 1)
