"""Archives built byte by byte, so that each lie is exactly the one that is meant."""

from __future__ import annotations

import io
import struct
import tarfile
import zlib
from dataclasses import dataclass, field
from typing import Any

FILE, LINK = 0o100000, 0o120000


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
