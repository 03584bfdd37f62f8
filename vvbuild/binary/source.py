"""Reading a file that may hold anything: bounded reads, checked ranges, one way to complain.

Readers never load or map a file. They ask for a range, which must lie inside the file, and get
bytes; what they cannot make sense of they refuse with
:class:`Malformed`, and :func:`malformed_as` turns
that into the error that callers know.
"""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from vvbuild.errors import BinaryMalformedError

_BLOCK = 1 << 14
_BLOCKS = 256
_CHUNK = 1 << 20
# One call where a seek and a read are two; Windows has none.
_pread = getattr(os, "pread", None)


class Malformed(ValueError):
    """Bytes that contradict themselves; its text says what and where."""


class Source:
    """One open file, or a part of it, read by ranges.

    Small reads go through blocks of 16 KiB, of which at most 256 are kept (4 MiB), since names
    of symbols lie scattered over string tables of many megabytes.
    """

    def __init__(self, stream: BinaryIO, start: int = 0, size: int | None = None) -> None:
        """Look at ``size`` bytes from ``start`` on, by default at all there are behind it."""
        self._stream = stream
        self._file = stream.fileno()
        self._start = start
        whole = os.fstat(self._file).st_size
        self.size = max(0, whole - start) if size is None else size
        if start + self.size > whole:
            raise Malformed(f"a part at {start:#x} of {self.size} bytes ends behind the file")
        self._blocks: OrderedDict[int, bytes] = OrderedDict()

    def part(self, start: int, size: int) -> Source:
        """A range of this file as a source of its own."""
        self.check(start, size, "a part")
        return Source(self._stream, self._start + start, size)

    def check(self, offset: int, size: int, what: str) -> None:
        """Refuse a range that is not inside the file."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise Malformed(
                f"{what} at {offset:#x} of {size} bytes ends behind the file's {self.size}"
            )

    def at(self, offset: int, size: int, what: str) -> bytes:
        """Exactly ``size`` bytes at ``offset``; ``what`` is what they are, for the complaint."""
        self.check(offset, size, what)
        if size > _BLOCK:
            return self._read(offset, size)
        first, inside = divmod(offset, _BLOCK)
        block = self._block(first)
        data = block[inside : inside + size]
        if len(data) < size:
            data += self._block(first + 1)[: size - len(data)]
        if len(data) < size:
            raise Malformed(f"{what} at {offset:#x} was cut off while it was read")
        return data

    def hop(self, offset: int, size: int, what: str) -> bytes:
        """As :meth:`at`, for small reads far apart, none of which lies in a block of another."""
        self.check(offset, size, what)
        return self._read(offset, size)

    def start_of(self, size: int) -> bytes:
        """The first ``size`` bytes, or as many as there are."""
        return self.at(0, min(size, self.size), "the start")

    def string(self, offset: int, limit: int, what: str) -> bytes:
        """The bytes up to the next NUL, which must come within ``limit`` bytes."""
        self.check(offset, 0, what)
        end = min(self.size, offset + limit)
        found = bytearray()
        while offset < end:
            number, inside = divmod(offset, _BLOCK)
            block = self._block(number)
            stop = block.find(b"\0", inside, inside + end - offset)
            if stop >= 0:
                return bytes(found + block[inside:stop])
            piece = block[inside : inside + end - offset]
            if not piece:
                break
            found += piece
            offset += len(piece)
        raise Malformed(f"{what} has no end within {limit} bytes")

    def chunks(self, offset: int, size: int, what: str, step: int = _CHUNK) -> Iterator[bytes]:
        """A long range, piece by piece; each has ``step`` bytes but for the last."""
        self.check(offset, size, what)
        while size:
            piece = self._read(offset, min(step, size))
            yield piece
            offset += len(piece)
            size -= len(piece)

    def _block(self, number: int) -> bytes:
        block = self._blocks.get(number)
        if block is not None:
            self._blocks.move_to_end(number)
            return block
        offset = number * _BLOCK
        block = self._read(offset, max(0, min(_BLOCK, self.size - offset)))
        self._blocks[number] = block
        if len(self._blocks) > _BLOCKS:
            self._blocks.popitem(last=False)
        return block

    def _read(self, offset: int, size: int) -> bytes:
        data = self._from_file(size, self._start + offset)
        if len(data) < size:
            raise Malformed(f"{size} bytes at {offset:#x} were cut off while they were read")
        return data

    def _from_file(self, size: int, offset: int) -> bytes:
        if _pread is not None:
            found: bytes = _pread(self._file, size, offset)
            return found
        self._stream.seek(offset)
        return self._stream.read(size)


@contextmanager
def open_source(path: Path, what: str) -> Iterator[Source]:
    """Open a regular file for a reader of ``what`` ("ELF file").

    :class:`Malformed` becomes :class:`BinaryMalformedError`; ``OSError`` stays what it is.
    """
    with malformed_as(path, what):
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for ever
            raise Malformed("it is not a regular file")
        with path.open("rb", buffering=0) as stream:
            yield Source(stream)


@contextmanager
def malformed_as(path: Path, what: str) -> Iterator[None]:
    """Say of which file, and as what, the bytes make no sense."""
    try:
        yield
    except Malformed as error:
        raise BinaryMalformedError(
            f"{path.name} is not a whole {what}: {error}.",
            context={"path": path},
            hint="The file is damaged or was cut off. Fetch or build it again.",
        ) from error


def first_bytes(path: Path, count: int) -> bytes:
    """The first bytes of a regular file (a link is followed); none of anything else."""
    if not stat.S_ISREG(path.stat().st_mode):
        return b""
    with path.open("rb", buffering=0) as stream:
        return stream.read(count)


def text(raw: bytes) -> str:
    r"""A name as text; a byte that is no UTF-8 becomes ``\xff``, so that JSON can hold it."""
    return raw.decode("utf-8", "backslashreplace")
