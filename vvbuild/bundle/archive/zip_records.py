"""The records of a zip file as bytes (PKWARE's APPNOTE 6.3, §4.3 and §4.5.3)."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass, replace

STORED, DEFLATED = 0, 8

_UNIX = 3
_PLAIN, _ZIP64 = 20, 45  # the versions of the format that a reader must know
_SIZES_FOLLOW, _UTF8 = 0x0008, 0x0800
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
_DOS_DIRECTORY = 0x10
_UNIX_DIRECTORY = 0o040000

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")


@dataclass(frozen=True, slots=True)
class Limits:
    """From where on a number goes into a Zip64 field; smaller ones are for tests."""

    size: int = _FULL32
    count: int = _FULL16


@dataclass(frozen=True, slots=True)
class Member:
    """What the records say of one member.

    ``mode`` is a Unix ``st_mode``. When ``streamed``, the local header holds no CRC and no
    sizes; they follow the data. ``offset`` is where the local header begins.
    """

    name: bytes
    mode: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int
    streamed: bool = False

    def finished(self, crc: int, packed: int) -> Member:
        """The same member, now that all of its data is known."""
        return replace(self, crc=crc, packed=packed)


def dos_stamp(epoch: int) -> tuple[int, int]:
    """Time and date in DOS form, in UTC; what DOS cannot say becomes its first or last moment.

    DOS counts from 1980 to 2107 in steps of two seconds.
    """
    first, last = 315_532_800, 4_354_819_198
    year, month, day, hour, minute, second = time.gmtime(min(max(epoch, first), last))[:6]
    return hour << 11 | minute << 5 | second >> 1, (year - 1980) << 9 | month << 5 | day


def local_header(member: Member, stamp: tuple[int, int], limits: Limits) -> bytes:
    """What stands before a member's data."""
    large = _is_large(member, limits)
    crc, packed, size = member.crc, member.packed, member.size
    if member.streamed:
        crc = packed = size = 0
    extra = struct.pack("<2H2Q", 1, 16, size, packed) if large else b""
    if large:
        packed = size = _FULL32
    return (
        _LOCAL.pack(
            b"PK\x03\x04", _ZIP64 if large else _PLAIN, _flags(member), member.method, *stamp,
            crc, packed, size, len(member.name), len(extra),
        )
        + member.name + extra
    )  # fmt: skip


def descriptor(member: Member, limits: Limits) -> bytes:
    """What stands behind the data of a streamed member."""
    form = "<4sI2Q" if _is_large(member, limits) else "<4s3I"
    return struct.pack(form, b"PK\x07\x08", member.crc, member.packed, member.size)


def central_header(member: Member, stamp: tuple[int, int], limits: Limits) -> bytes:
    """A member's entry in the directory at the end."""
    numbers = (member.size, member.packed, member.offset)
    too_large = [number for number in numbers if number >= limits.size]
    size, packed, offset = (_FULL32 if number >= limits.size else number for number in numbers)
    extra = b""
    if too_large:
        extra = struct.pack(f"<2H{len(too_large)}Q", 1, 8 * len(too_large), *too_large)
    needed = _ZIP64 if too_large or _is_large(member, limits) else _PLAIN
    directory = _DOS_DIRECTORY if member.mode & 0o170000 == _UNIX_DIRECTORY else 0
    return (
        _CENTRAL.pack(
            b"PK\x01\x02", _UNIX << 8 | needed, needed, _flags(member), member.method, *stamp,
            member.crc, packed, size, len(member.name), len(extra), 0, 0, 0,
            member.mode << 16 | directory, offset,
        )
        + member.name + extra
    )  # fmt: skip


def end_records(count: int, start: int, length: int, limits: Limits) -> bytes:
    """What ends the file; ``start`` and ``length`` (bytes) are those of the directory."""
    large = count >= limits.count or start >= limits.size or length >= limits.size
    records = b""
    if large:
        records = _END64.pack(
            b"PK\x06\x06", _END64.size - 12, _UNIX << 8 | _ZIP64, _ZIP64, 0, 0,
            count, count, length, start,
        ) + _LOCATOR.pack(b"PK\x06\x07", 0, start + length, 1)  # fmt: skip
    count = _FULL16 if count >= limits.count else count
    start = _FULL32 if start >= limits.size else start
    length = _FULL32 if length >= limits.size else length
    return records + _END.pack(b"PK\x05\x06", 0, 0, count, count, length, start, 0)


def _is_large(member: Member, limits: Limits) -> bool:
    # While a streamed member is begun, its packed size is still unknown. Deflate adds at most
    # five bytes to 64 KiB, so an eighth is room enough.
    room = member.size >> 3 if member.streamed else 0
    return member.size + room >= limits.size or member.packed >= limits.size


def _flags(member: Member) -> int:
    return (_SIZES_FOLLOW if member.streamed else 0) | (0 if member.name.isascii() else _UTF8)
