from __future__ import annotations

import random
import zlib

import deflate
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vvbuild.bundle.archive.pieces import compress_piece, reopen
from vvbuild.errors import InternalError


def inflate(stream: bytes) -> bytes:
    inflater = zlib.decompressobj(-15)
    data = inflater.decompress(stream)
    assert inflater.eof
    assert not inflater.unused_data
    return data


def mixture(seed: int, size: int) -> bytes:
    """Stretches that deflate packs as stored, fixed and dynamic blocks."""
    source = random.Random(seed)
    out = bytearray()
    while len(out) < size:
        length = source.choice([1, 7, 300, 5_000, 70_000])
        kind = source.randrange(4)
        if kind == 0:
            out += source.randbytes(length)
        elif kind == 1:
            out += bytes([source.randrange(256)]) * length
        elif kind == 2:
            out += b"".join(b"%d, " % source.randrange(99) for _ in range(length // 4 + 1))
        else:
            start = source.randrange(len(out) + 1)
            out += out[start : start + length]
    return bytes(out[:size])


@given(
    pieces=st.lists(st.binary(max_size=300) | st.binary(min_size=1, max_size=3), max_size=6),
    level=st.integers(0, 12),
)
def test_pieces_put_together_are_one_stream(pieces: list[bytes], level: int) -> None:
    stream = b"".join(compress_piece(piece, level, last=False) for piece in pieces)
    stream += compress_piece(b"end", level, last=True)

    assert inflate(stream) == b"".join(pieces) + b"end"


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(0, 900_000),
    level=st.sampled_from([0, 1, 6, 7, 9, 12]),
)
def test_a_stream_of_many_blocks_can_be_continued(seed: int, size: int, level: int) -> None:
    data = mixture(seed, size)

    stream = compress_piece(data, level, last=False) + compress_piece(data, level, last=True)

    assert inflate(bytes(stream)) == data + data
    assert deflate.deflate_decompress(stream, 2 * len(data) + 1) == data + data


def test_reopening_costs_no_more_than_five_bytes() -> None:
    data = mixture(1, 200_000)
    stream = deflate.deflate_compress(data, 7)

    assert len(stream) + 4 <= len(reopen(stream, data)) <= len(stream) + 5


def test_streams_of_another_compressor_are_reopened_as_well() -> None:
    data = mixture(2, 400_000)
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
    stream = compressor.compress(data) + compressor.flush()

    opened = reopen(stream, data)

    assert inflate(bytes(opened) + b"\x03\x00") == data


@pytest.mark.parametrize("position", [0, 10_000, 199_999])
def test_a_stream_that_holds_something_else_is_noticed(position: int) -> None:
    data = mixture(3, 200_000)
    stream = deflate.deflate_compress(data, 7)
    other = bytearray(data)
    other[position] ^= 1

    with pytest.raises(InternalError):
        reopen(stream, bytes(other))


def test_a_damaged_stream_is_noticed() -> None:
    data = b"all work and no play " * 5000
    stream = deflate.deflate_compress(data, 7)

    with pytest.raises(InternalError):
        reopen(stream[: len(stream) // 2], data)
