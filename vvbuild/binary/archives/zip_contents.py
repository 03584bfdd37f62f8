"""What the members of a zip hold, checked against all that the zip says of them."""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Iterator
from itertools import product
from typing import BinaryIO

from vvbuild.binary.archives.zip_index import (
    LOCAL,
    STREAMED,
    Member,
    ZipError,
    check_second_name,
    widen,
)
from vvbuild.runtime.cancel import Cancel

STORED, DEFLATED = 0, 8
# Members up to this size are unpacked in one piece, larger ones flow.
_WHOLE = 4 << 20
_CHUNK = 1 << 20


class ZipContents:
    """The members' bytes, read by several threads; all of them raise :class:`ZipError`."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def read(self, offset: int, size: int) -> bytes:
        """Exactly so many bytes of the archive; threads take turns."""
        with self._lock:
            self._stream.seek(offset)
            data = self._stream.read(size)
        while len(data) < size:
            with self._lock:
                self._stream.seek(offset + len(data))
                more = self._stream.read(size - len(data))
            if not more:
                raise ZipError("it ends early")
            data += more
        return data

    def contents(self, member: Member, cancel: Cancel) -> Iterator[bytes]:
        """A member's unpacked bytes, after its local header was compared with the table."""
        begin = self.begin(member)
        if max(member.size, member.packed) <= _WHOLE:
            return iter((self._whole(member, begin),))
        return self._flow(member, begin, cancel)

    def begin(self, member: Member) -> int:
        """Where the packed bytes begin, after both headers were compared."""
        name = member.name
        header = self.read(member.offset, LOCAL.size + len(member.raw_name))
        (signature, _, flags, method, _, _, crc, packed, size, name_length,
         extra_length) = LOCAL.unpack_from(header)  # fmt: skip
        if signature != b"PK\x03\x04":
            raise ZipError("has no header of its own", name)
        if (flags, method) != (member.flags, member.method):
            raise ZipError("is described in two ways", name)
        if name_length != len(member.raw_name) or header[LOCAL.size :] != member.raw_name:
            raise ZipError("has two names", name)
        after_name = member.offset + LOCAL.size + name_length
        extra = self.read(after_name, extra_length)
        check_second_name(extra, member.raw_name, name)
        size, packed = widen(extra, (size, packed), name)
        begin: int = after_name + extra_length
        expected = (member.crc, member.packed, member.size)
        if flags & STREAMED:
            if (crc, packed, size) not in ((0, 0, 0), expected):
                raise ZipError("has two sizes", name)
            self._check_trailer(member, begin)
        elif (crc, packed, size) != expected:
            raise ZipError("has two sizes or two checksums", name)
        if begin + member.packed > member.end:
            raise ZipError("overlaps another member or the table of contents", name)
        return begin

    def _check_trailer(self, member: Member, begin: int) -> None:
        """Behind a streamed member stand its sizes, of 4 or 8 bytes, with or without a mark."""
        at = begin + member.packed
        trailer = self.read(at, max(0, min(24, member.end - at)))
        expected = (member.crc, member.packed, member.size)
        for mark, form in product((b"PK\x07\x08", b""), ("<3I", "<I2Q")):
            fits = len(trailer) >= len(mark) + struct.calcsize(form) and trailer.startswith(mark)
            if fits and struct.unpack_from(form, trailer, len(mark)) == expected:
                return
        raise ZipError("has two sizes or two checksums", member.name)

    def _whole(self, member: Member, begin: int) -> bytes:
        data = self.read(begin, member.packed)
        if member.method == DEFLATED:
            inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            try:
                data = inflate.decompress(data, member.size + 1)
            except zlib.error:
                raise ZipError("is damaged", member.name) from None
            if not inflate.eof or inflate.unused_data:
                raise ZipError("is larger or smaller than it says", member.name)
        if len(data) != member.size:
            raise ZipError("is larger or smaller than it says", member.name)
        if zlib.crc32(data) != member.crc:
            raise ZipError("is damaged (its checksum differs)", member.name)
        return data

    def _flow(self, member: Member, begin: int, cancel: Cancel) -> Iterator[bytes]:
        crc = done = 0
        for piece in self._inflated(member, begin):
            cancel.check()
            crc = zlib.crc32(piece, crc)
            done += len(piece)
            if done > member.size:
                raise ZipError("is larger than it says", member.name)
            yield piece
        if done != member.size:
            raise ZipError("is smaller than it says", member.name)
        if crc != member.crc:
            raise ZipError("is damaged (its checksum differs)", member.name)

    def _inflated(self, member: Member, begin: int) -> Iterator[bytes]:
        inflate = zlib.decompressobj(-zlib.MAX_WBITS) if member.method == DEFLATED else None
        for offset in range(0, member.packed, _CHUNK):
            data = self.read(begin + offset, min(_CHUNK, member.packed - offset))
            if inflate is None:
                yield data
                continue
            try:
                while data and not inflate.eof:
                    yield inflate.decompress(data, _CHUNK)
                    data = inflate.unconsumed_tail
            except zlib.error:
                raise ZipError("is damaged", member.name) from None
            if inflate.unused_data or (inflate.eof and data):
                raise ZipError("is larger than it says", member.name)
        if inflate is not None and not inflate.eof:
            raise ZipError("is damaged", member.name)


def link_text(data: bytes, member: Member) -> str:
    """The target of a link, whose contents it is."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ZipError("is a link in an unknown encoding", member.name) from None
