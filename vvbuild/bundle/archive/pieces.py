"""Deflate a file piece by piece with a compressor that only knows whole buffers.

libdeflate is the compressor (fast, and its bytes do not depend on the processor), but it has
no streaming: each call gives a complete stream, whose last block carries the "final" bit and
ends anywhere in a byte. A zip member is *one* stream. So that a member of any size can be
compressed by several threads in flat memory, :func:`compress_piece` re-opens such a stream:
the final bit is cleared and an empty stored block appended, which ends on a byte boundary
(what zlib calls a sync flush; RFC 1951 §3.2.4). Streams that were opened this way, followed
by an untouched one, are one valid stream.

libdeflate does not tell where the last block begins. It is found with zlib's inflate, one
block after the other: with its final bit set, inflate stops behind *any* block and says how
many bytes it used, so that the next block begins in the last of them; which of its bits it
is gets tried out. Every byte that comes out is compared with the input on the way, so this
proves the piece, too. Where a block begins is a fact of the stream: no byte of the result
depends on the zlib that found it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import deflate

from vvbuild.errors import InternalError

# A stream starts without history; doing so every 4 MiB costs less than 0.1 % of size.
PIECE = 4 << 20

_WINDOW = 32 << 10
_RAW = -15
# The first look has to refuse a wrong bit; after it, most blocks end within one read.
_LOOK, _READ = 256, 48 << 10
_OPEN_ENDS = (b"\x00\x00\xff\xff", b"\x00\x00\x00\xff\xff")
_EMPTY_FINAL = b"\x03\x00"


def compress_piece(data: bytes, level: int, *, last: bool) -> bytes | bytearray:
    """Deflate ``data`` (raw); unless it is the ``last`` piece, more may be put behind it."""
    stream: bytearray = deflate.deflate_compress(data, level)
    return stream if last else reopen(stream, data)


def reopen(stream: bytes | bytearray, data: bytes) -> bytearray:
    """The same blocks as ``stream``, which inflates to ``data``, with none of them final.

    Raises :class:`InternalError` if it does not inflate to ``data``.
    """
    bit, start = _last_block(stream, data)
    opened = bytearray(stream)
    opened[bit >> 3] ^= 1 << (bit & 7)
    # The header of the empty stored block is three zero bits. Either the last byte has room
    # for them behind the last code, or they reach into a byte of their own.
    for end in _OPEN_ENDS:
        if _inflates(opened + end + _EMPTY_FINAL, bit, data, start):
            return opened + end
    raise InternalError("A compressed piece cannot be continued.")


def _last_block(stream: bytes | bytearray, data: bytes) -> tuple[int, int]:
    """Where the final block begins: its bit in ``stream``, its byte in ``data``."""
    # A wrong bit can look like a block for a while, so this is a search with a way back.
    open_ends = [(0, 0)]
    while open_ends:
        bit, start = open_ends.pop()
        found = _inflate_block(stream, bit, data, start)
        if found is None:
            continue
        end, done = found
        if not (stream[bit >> 3] >> (bit & 7)) & 1:
            open_ends.extend((end - back, done) for back in range(8))
        elif done == len(data):
            return bit, start
    raise InternalError("A compressed piece does not hold what was compressed.")


def _inflate_block(
    stream: bytes | bytearray, bit: int, data: bytes, start: int
) -> tuple[int, int] | None:
    """Take one block at ``bit``; returns the end of its last byte (in bits) and of its data.

    ``None`` if there is no block at that bit, or not one that holds ``data`` from ``start``.
    """
    inflater = _inflater(data, start)
    done = start
    for piece, position in _from_bit(stream, bit, final=1):
        try:
            out = inflater.decompress(piece)
        except zlib.error:
            return None
        if data[done : done + len(out)] != out:
            return None
        done += len(out)
        if inflater.eof:
            # libdeflate makes no empty blocks, but ten wrong bits can look like one.
            empty = done == start and data
            return None if empty else (8 * (position - len(inflater.unused_data)), done)
    return None


def _inflates(stream: bytes | bytearray, bit: int, data: bytes, start: int) -> bool:
    inflater = _inflater(data, start)
    try:
        out = b"".join(inflater.decompress(piece) for piece, _ in _from_bit(stream, bit, final=0))
    except zlib.error:
        return False
    return inflater.eof and out == data[start:]


def _inflater(data: bytes, start: int) -> zlib._Decompress:
    return zlib.decompressobj(_RAW, zdict=data[max(0, start - _WINDOW) : start])


def _from_bit(
    stream: bytes | bytearray, bit: int, *, final: int
) -> Iterator[tuple[bytes | bytearray, int]]:
    """``stream`` from ``bit`` on, in pieces, each with the position behind it.

    Inflate begins at whole bytes, so the first piece has empty blocks in front that end at the
    same bit of a byte. ``final`` is or-ed into the first bit.
    """
    position, shift = divmod(bit, 8)
    if position == len(stream):
        return
    filler, beginning = _FILLERS[shift]
    first = stream[position] >> shift << shift | final << shift | beginning
    end = min(position + _LOOK, len(stream))
    yield filler + bytes((first,)) + stream[position + 1 : end], end
    while end < len(stream):
        position, end = end, min(end + _READ, len(stream))
        yield stream[position:end], end


def _fillers() -> tuple[tuple[bytes, int], ...]:
    """For 0 … 7: empty blocks that end that many bits into a byte; whole bytes, and the rest.

    Written in the order of the bits (RFC 1951 §3.2.3, §3.2.7).
    """
    fixed = "0100000000"
    lengths = "000000010100" + 13 * "000" + "010"  # of 16 17 18 0 8 … 14 1
    zeros = "11"  # the code of 18: as many zeros as the next seven bits say, and eleven
    dynamic = (
        "0" "01" "00000" "00000" "0111" + lengths
        + zeros + "1111111" + zeros + "1101011" + "10" "0"  # 256 zeros, 1; distances: 0
        + "0"
    )  # fmt: skip
    found: dict[int, str] = {}
    for odd in ("", dynamic):
        for count in range(4):
            bits = odd + count * fixed
            found[len(bits) % 8] = bits
    return tuple(_split(found[rest]) for rest in range(8))


def _split(bits: str) -> tuple[bytes, int]:
    value = int(bits[::-1] or "0", 2)
    whole = len(bits) // 8
    return (value & ((1 << 8 * whole) - 1)).to_bytes(whole, "little"), value >> 8 * whole


_FILLERS = _fillers()
