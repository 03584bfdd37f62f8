"""Compress a bundle's files on several threads, and hand the results on in order.

How a file is cut depends on its size only, so the number of threads changes no byte. Memory is
bounded by what has been read and not yet written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import deflate

from vvbuild.bundle.archive.pieces import PIECE, compress_piece
from vvbuild.bundle.archive.zip_records import DEFLATED, STORED
from vvbuild.errors import IntegrityError
from vvbuild.model.tree import Entry
from vvbuild.runtime.cancel import Cancel

# What a thread may have read ahead of the writer; with its result, that is twice as much.
_ROOM = 3 * PIECE
# What a small file costs beside its content.
_LEAST_COST = 64 << 10
_STORE_FROM = 0.98
_SAMPLES, _SAMPLE = 16, 64 << 10
_COPY = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """An entry of a bundle and where its content is."""

    entry: Entry
    path: Path

    def read(self, size: int) -> Iterator[bytes]:
        """The content in pieces of ``size`` bytes.

        Raises :class:`IntegrityError` unless it is as long as it was when the bundle was scanned.
        """
        left = self.entry.size
        with self.path.open("rb") as stream:
            while left:
                data = stream.read(min(size, left))
                if len(data) < min(size, left):
                    raise self.changed()
                left -= len(data)
                yield data
            if stream.read(1):
                raise self.changed()

    def changed(self) -> IntegrityError:
        """What to raise when the content is not what it was a moment ago."""
        return IntegrityError(
            f"{self.entry.path} changed while it was packed.", context={"path": self.path}
        )


@dataclass(frozen=True, slots=True)
class Packed:
    """A member's data as it goes into the zip, and the CRC-32 of its content."""

    method: int
    crc: int
    data: bytes | bytearray


@dataclass(frozen=True, slots=True)
class Whole:
    """A member that is packed at once."""

    source: Source
    packed: Future[Packed]


@dataclass(frozen=True, slots=True)
class Slice:
    """Bytes ``start`` to ``end`` of a member; ``crc`` is that of the content up to ``end``."""

    source: Source
    start: int
    end: int
    crc: int
    packed: Future[bytes | bytearray]


@dataclass(frozen=True, slots=True)
class Copied:
    """A large member that is stored: read once for its CRC, and once more to be written."""

    source: Source
    crc: Future[int]

    def content(self, cancel: Cancel) -> Iterator[bytes]:
        """Its bytes, compared with the CRC in the end."""
        crc = 0
        for data in self.source.read(_COPY):
            cancel.check()
            crc = deflate.crc32(data, crc)
            yield data
        if crc != self.crc.result():
            raise self.source.changed()


Job: TypeAlias = Whole | Slice | Copied


def work(
    sources: Iterable[Source], *, level: int, threads: int, cancel: Cancel
) -> Generator[Job, None, None]:
    """Start the work on all sources in order, a little ahead, and yield it in that order.

    Leaving early (or an error) drops what has not begun and waits for the pieces at work.
    """
    with _pool(threads) as pool:
        yield from _ahead(_jobs(sources, pool, level, cancel), threads * _ROOM)


def _jobs(
    sources: Iterable[Source], pool: ThreadPoolExecutor, level: int, cancel: Cancel
) -> Iterator[tuple[int, Job]]:
    """Each job with its cost in bytes of memory."""
    for source in sources:
        size = source.entry.size
        if size <= PIECE:
            yield max(size, _LEAST_COST), Whole(source, pool.submit(_pack, source, level, cancel))
        elif _shrinks(source, level):
            for piece in _slices(source, pool, level, cancel):
                yield PIECE, piece
        else:
            yield _LEAST_COST, Copied(source, pool.submit(_crc, source, cancel))


def _slices(
    source: Source, pool: ThreadPoolExecutor, level: int, cancel: Cancel
) -> Iterator[Slice]:
    start = crc = 0
    for data in source.read(PIECE):
        end = start + len(data)
        crc = deflate.crc32(data, crc)
        packed = pool.submit(_pack_piece, data, level, end == source.entry.size, cancel)
        yield Slice(source, start, end, crc, packed)
        start = end


def _pack(source: Source, level: int, cancel: Cancel) -> Packed:
    cancel.check()
    entry = source.entry
    if entry.kind in ("link", "directory"):
        data = (entry.link or "").encode()
        return Packed(STORED, deflate.crc32(data), data)
    data = b"".join(source.read(PIECE))
    packed = compress_piece(data, level, last=True)
    if len(packed) >= _STORE_FROM * len(data):
        return Packed(STORED, deflate.crc32(data), data)
    return Packed(DEFLATED, deflate.crc32(data), packed)


def _pack_piece(data: bytes, level: int, last: bool, cancel: Cancel) -> bytes | bytearray:
    cancel.check()
    return compress_piece(data, level, last=last)


def _crc(source: Source, cancel: Cancel) -> int:
    crc = 0
    for data in source.read(_COPY):
        cancel.check()
        crc = deflate.crc32(data, crc)
    return crc


def _shrinks(source: Source, level: int) -> bool:
    """Whether samples, spread evenly from the first byte to the last, say that deflate helps."""
    packed = 0
    with source.path.open("rb") as stream:
        for number in range(_SAMPLES):
            stream.seek((source.entry.size - _SAMPLE) * number // (_SAMPLES - 1))
            packed += len(compress_piece(stream.read(_SAMPLE), level, last=True))
    return packed < _STORE_FROM * _SAMPLES * _SAMPLE


def _ahead(jobs: Iterable[tuple[int, Job]], room: int) -> Iterator[Job]:
    """Begin jobs while there is room for what they hold."""
    waiting: deque[tuple[int, Job]] = deque()
    held = 0
    for cost, job in jobs:
        waiting.append((cost, job))
        held += cost
        while held > room:
            freed, oldest = waiting.popleft()
            yield oldest
            held -= freed
    for _, job in waiting:
        yield job


@contextmanager
def _pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(threads, thread_name_prefix="vvpp")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
