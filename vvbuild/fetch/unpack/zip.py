"""Zips and wheels onto disk."""

from __future__ import annotations

import os
import stat
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, product
from pathlib import Path
from typing import BinaryIO, NamedTuple

from vvbuild.errors import HostileArchiveError
from vvbuild.fetch.unpack.limits import UnpackLimits
from vvbuild.fetch.unpack.names import MemberKind, Selection
from vvbuild.fetch.unpack.writer import TreeWriter
from vvbuild.fetch.unpack.zipindex import (
    ENCRYPTED,
    LOCAL,
    STREAMED,
    Member,
    ZipError,
    check_second_name,
    read_index,
    widen,
)
from vvbuild.runtime.cancel import Cancel

_STORED, _DEFLATED = 0, 8
# Members up to this size are unpacked in one piece, larger ones flow.
_WHOLE = 4 << 20
_CHUNK = 1 << 20
_LONGEST_LINK = 4096
_MOST_THREADS = 4
_BATCH = 16
_STRONG_ENCRYPTION, _MASKED = 0x40, 0x2000


class _Wanted(NamedTuple):
    member: Member
    path: str


def unpack_zip(
    archive: Path, writer: TreeWriter, selection: Selection, limits: UnpackLimits, cancel: Cancel
) -> None:
    """Write a zip's wanted members. Raises :class:`HostileArchiveError`."""
    with archive.open("rb", buffering=0) as stream:
        try:
            _unpack(stream, writer, selection, limits, cancel)
        except ZipError as error:
            if error.member is not None:
                selection.refuse(error.member, error.what)
            raise HostileArchiveError(
                f"{archive.name} must not be unpacked: {error.what}.", context={"archive": archive}
            ) from None


def _unpack(
    stream: BinaryIO, writer: TreeWriter, selection: Selection, limits: UnpackLimits, cancel: Cancel
) -> None:
    packed = os.fstat(stream.fileno()).st_size
    members = read_index(stream, packed, limits.files)
    objection = limits.objection(len(members), sum(member.size for member in members), packed)
    if objection is not None:
        raise ZipError(f"it makes {objection}")
    source = _Source(stream)
    files, links = _sort_out(members, writer, selection)
    _write_files(source, files, writer, selection, cancel)
    for member, path in links:
        target = _text(b"".join(source.contents(member, cancel)), member)
        selection.check_link(member.name, path, target)
        writer.symbolic_link(path, target)
    writer.count = len(files) + len(links)


def _sort_out(
    members: list[Member], writer: TreeWriter, selection: Selection
) -> tuple[list[_Wanted], list[_Wanted]]:
    """Judge every member, make the directories, and return the files and the links."""
    files: list[_Wanted] = []
    links: list[_Wanted] = []
    for member in members:
        kind = _kind(member)
        path = selection.admit(member.name, kind)
        if path is None:
            continue
        if kind == "directory":
            writer.directory(path)
            continue
        writer.directory(path.rpartition("/")[0])
        (links if kind == "link" else files).append(_Wanted(member, path))
    return files, links


def _kind(member: Member) -> MemberKind:
    if member.flags & (ENCRYPTED | _STRONG_ENCRYPTION | _MASKED):
        raise ZipError("is encrypted", member.name)
    if member.method not in (_STORED, _DEFLATED):
        raise ZipError(f"is packed by method {member.method}, not by deflate", member.name)
    if member.method == _STORED and member.packed != member.size:
        raise ZipError("is stored with two sizes", member.name)
    form = stat.S_IFMT(member.mode)
    if member.is_directory:
        if member.size or form not in (0, stat.S_IFDIR, stat.S_IFREG):
            raise ZipError("is a directory with contents", member.name)
        return "directory"
    if form == stat.S_IFLNK:
        if member.size > _LONGEST_LINK:
            raise ZipError("is a link with too long a target", member.name)
        return "link"
    if form not in (0, stat.S_IFREG):
        raise ZipError("is neither a file, a directory nor a link", member.name)
    return "file"


def _write_files(
    source: _Source,
    files: list[_Wanted],
    writer: TreeWriter,
    selection: Selection,
    cancel: Cancel,
) -> None:
    def write(wanted: _Wanted) -> None:
        cancel.check()
        executable = selection.executable(wanted.path, wanted.member.mode)
        writer.file(wanted.path, source.contents(wanted.member, cancel), executable=executable)

    # The largest come first, so that none is left alone at the end.
    _share_out(sorted(files, key=lambda wanted: wanted.member.size, reverse=True), write)


def _share_out(files: list[_Wanted], write: Callable[[_Wanted], None]) -> None:
    """Write files by several threads: inflating and writing let other threads run."""
    queue, lock, failed = iter(files), threading.Lock(), threading.Event()

    def work() -> None:
        try:
            while not failed.is_set():
                with lock:
                    batch = list(islice(queue, _BATCH))
                if not batch:
                    return
                for wanted in batch:
                    write(wanted)
        except BaseException:
            failed.set()
            raise

    workers = min(_MOST_THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(workers, "vvbuild-unpack") as pool:
        outcomes = [pool.submit(work) for _ in range(workers)]
    for outcome in outcomes:
        outcome.result()


class _Source:
    """The archive's bytes, read by several threads."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def read(self, offset: int, size: int) -> bytes:
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
        begin = self._begin(member)
        if max(member.size, member.packed) <= _WHOLE:
            return iter((self._whole(member, begin),))
        return self._flow(member, begin, cancel)

    def _begin(self, member: Member) -> int:
        """Where the packed bytes begin. Raises :class:`ZipError` if the headers disagree."""
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
        if member.method == _DEFLATED:
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
        inflate = zlib.decompressobj(-zlib.MAX_WBITS) if member.method == _DEFLATED else None
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


def _text(data: bytes, member: Member) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ZipError("is a link in an unknown encoding", member.name) from None
