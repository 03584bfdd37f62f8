"""Archives built byte by byte, so that each lie is exactly the one that is meant."""

from __future__ import annotations

import io
import struct
import tarfile
import zlib
from dataclasses import dataclass, field
from typing import Any

FILE, LINK, FOLDER = 0o100000, 0o120000, 0o040000


@dataclass(frozen=True)
class Zipped:
    """A member of a zip. ``local``, ``central`` and ``told`` replace fields of one header only.

    ``told`` is what stands behind a streamed member.
    """

    name: str | bytes
    data: bytes = b""
    mode: int = FILE | 0o644
    method: int = 8
    flags: int = 0x800
    trailer: bool = False
    local: dict[str, Any] = field(default_factory=dict)
    central: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    packed: bytes | None = None

    @property
    def raw(self) -> bytes:
        return self.name if isinstance(self.name, bytes) else self.name.encode()

    def stored(self) -> bytes:
        if self.packed is not None:
            return self.packed
        return deflate(self.data) if self.method == 8 else self.data


def deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def zip_bytes(
    *members: Zipped, comment: bytes = b"", wide: dict[str, int] | None = None, **end: int
) -> bytes:
    """A zip of these members; ``end`` replaces fields of its end record.

    ``wide`` adds the 64-bit end record, and replaces fields there.
    """
    out, table = io.BytesIO(), io.BytesIO()
    for member in members:
        stored = member.stored()
        facts = {
            "name": member.raw,
            "flags": member.flags | (0x8 if member.trailer else 0),
            "method": member.method,
            "crc": zlib.crc32(member.data),
            "packed": len(stored),
            "size": len(member.data),
            "offset": out.tell(),
            "extra": b"",
        }
        zeros = {"crc": 0, "packed": 0, "size": 0} if member.trailer else {}
        here = {**facts, **zeros, **member.local}
        out.write(struct.pack(
            "<4s5H3I2H", b"PK\x03\x04", 20, here["flags"], here["method"], 0, 0x21, here["crc"],
            here["packed"], here["size"], len(here["name"]), len(here["extra"]),
        ) + here["name"] + here["extra"] + stored)  # fmt: skip
        if member.trailer:
            told = {**facts, **member.told}
            out.write(
                struct.pack("<4s3I", b"PK\x07\x08", told["crc"], told["packed"], told["size"])
            )
        there = {**facts, **member.central}
        table.write(struct.pack(
            "<4s6H3I5H2I", b"PK\x01\x02", 0x314, 20, there["flags"], there["method"], 0, 0x21,
            there["crc"], there["packed"], there["size"], len(there["name"]), len(there["extra"]),
            0, 0, 0, member.mode << 16, there["offset"],
        ) + there["name"] + there["extra"])  # fmt: skip
    body = out.getvalue() + table.getvalue()
    fields = {
        "disk": 0, "first": 0, "here": len(members), "count": len(members),
        "length": len(table.getvalue()), "offset": out.tell(), "note": len(comment),
    }  # fmt: skip
    if wide is not None:
        large = {**fields, "at": len(body), "disks": 1, **wide}
        body += struct.pack(
            "<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, large["disk"], large["first"],
            large["here"], large["count"], large["length"], large["offset"],
        ) + struct.pack("<4sIQI", b"PK\x06\x07", 0, large["at"], large["disks"])  # fmt: skip
        fields |= {"here": 0xFFFF, "count": 0xFFFF, "length": 0xFFFFFFFF, "offset": 0xFFFFFFFF}
    fields |= end
    return body + struct.pack("<4s4H2IH", b"PK\x05\x06", *fields.values()) + comment


@dataclass(frozen=True)
class Tarred:
    """A member of a tar."""

    name: str
    data: bytes = b""
    mode: int = 0o644
    kind: bytes = tarfile.REGTYPE
    link: str = ""


def packed_tar(pack: Any, *members: Tarred) -> bytes:
    """A tar packed by a function, such as :func:`lzma.compress`."""
    return pack(tar_bytes(*members, packed=False))


def tar_bytes(*members: Tarred, packed: bool = True, **options: Any) -> bytes:
    """A tar of these members, gzipped or plain."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz" if packed else "w", **options) as tar:
        for member in members:
            info = tarfile.TarInfo(member.name)
            info.size, info.mode, info.type = len(member.data), member.mode, member.kind
            info.linkname = member.link
            tar.addfile(info, io.BytesIO(member.data))
    return out.getvalue()


@dataclass(frozen=True)
class Sevened:
    """A member of a 7z. ``attributes`` replaces those that follow from ``mode``; ``crc`` lies."""

    name: str | bytes
    data: bytes = b""
    mode: int = FILE | 0o644
    attributes: int | None = None
    crc: int | None = None
    anti: bool = False

    @property
    def all_attributes(self) -> int:
        if self.attributes is not None:
            return self.attributes
        return self.mode << 16 | 0x8000 | (0x10 if self.mode & 0o170000 == FOLDER else 0x20)

    @property
    def raw_name(self) -> bytes:
        name = self.name if isinstance(self.name, bytes) else self.name.encode("utf-16-le")
        return name + bytes(2)


def seven_bytes(*members: Sevened, coder: bytes = b"\x01\x00", cut: int = 0) -> bytes:
    """A 7z of these members, not packed, in one block (7-Zip's DOC/7zFormat.txt).

    ``coder`` is how the block says it is packed; ``cut`` bytes are missing from its end.
    """
    full = [member for member in members if member.data]
    body = b"".join(member.data for member in full)
    header = b"\x01"
    if full:
        sizes = b"".join(_number(len(member.data)) for member in full[:-1])
        sums = b"".join(
            struct.pack("<I", zlib.crc32(it.data) if it.crc is None else it.crc) for it in full
        )
        header += (
            b"\x04" b"\x06" + _number(0) + b"\x01\x09" + _number(len(body)) + b"\x00"
            b"\x07\x0b\x01\x00\x01" + coder + b"\x0c" + _number(len(body)) + b"\x00"
            b"\x08\x0d" + _number(len(full)) + (b"\x09" + sizes if sizes else b"")
            + b"\x0a\x01" + sums + b"\x00\x00"
        )  # fmt: skip
    header += b"\x05" + _number(len(members))
    empty = [not member.data for member in members]
    if any(empty):
        folders = [it.mode & 0o170000 == FOLDER for it in members if not it.data]
        header += _property(0x0E, _bits(empty)) + _property(0x0F, _bits([not it for it in folders]))
        header += _property(0x10, _bits([it.anti for it in members if not it.data]))
    names = b"".join(member.raw_name for member in members)
    attributes = b"".join(struct.pack("<I", member.all_attributes) for member in members)
    header += _property(0x11, b"\0" + names) + _property(0x15, b"\x01\0" + attributes) + b"\0\0"
    start = struct.pack("<QQI", len(body), len(header), zlib.crc32(header))
    whole = b"7z\xbc\xaf\x27\x1c\0\x04" + struct.pack("<I", zlib.crc32(start)) + start
    return (whole + body + header)[: -cut or None]


def _number(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else b"\xff" + struct.pack("<Q", value)


def _property(kind: int, data: bytes) -> bytes:
    return bytes([kind]) + _number(len(data)) + data


def _bits(flags: list[bool]) -> bytes:
    text = "".join("01"[flag] for flag in flags)
    return bytes(int(text[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(text), 8))
