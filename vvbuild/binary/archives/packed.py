"""Streams inside of packed files: gzip, xz, bzip2 and Zstandard."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from vvbuild.binary.archives.ahead import ReadAhead
from vvbuild.binary.archives.kinds import Kind
from vvbuild.binary.archives.seven_program import SevenZip
from vvbuild.errors import HostToolMissingError
from vvbuild.runtime.cancel import Cancel

_CHUNK = 1 << 20
# `xz -9` needs 65 MiB to unpack; what wants more than this is meant to hurt.
_MOST_MEMORY = 256 << 20


class Readable(Protocol):
    """As much of a file as the tar reader uses."""

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes, none at the end."""
        ...


class _Unpacked:
    """What a row of packed streams holds, read with a decompressor of the standard library."""

    def __init__(self, file: BinaryIO, make: Callable[[], Any], damage: type[Exception]) -> None:
        self._file = file
        self._damage = damage
        self._make = make
        self._packer = make()
        self._data = b""

    def read(self, size: int, /) -> bytes:
        while True:
            if self._packer.eof:
                # Parallel packers write several streams one behind the other.
                self._data = (self._packer.unused_data or self._file.read(_CHUNK)).lstrip(b"\0")
                if not self._data:
                    return b""
                self._packer = self._make()
            elif self._packer.needs_input and not self._data:
                self._data = self._file.read(_CHUNK)
                if not self._data:
                    raise EOFError("it ends early")
            try:
                found: bytes = self._packer.decompress(self._data, size)
            except self._damage as error:
                raise ValueError(str(error)) from error
            self._data = b""
            if found:
                return found


@contextmanager
def unpacked(
    archive: Path, kind: Kind, cancel: Cancel, seven_zip: Path | None
) -> Iterator[Readable]:
    """The tar inside of an archive.

    Zstandard is read by Python from 3.14 on, elsewhere by ``seven_zip``; raises
    :class:`HostToolMissingError` where there is neither.
    """
    if kind == "zst" and sys.version_info < (3, 14):
        if seven_zip is None:
            raise HostToolMissingError(
                f"{archive.name} is packed with Zstandard, which this Python cannot read.",
                hint="Run vvbuild with Python 3.14 or later, or pass the pinned 7-Zip.",
            )
        with tempfile.TemporaryFile() as errors:
            program = SevenZip(seven_zip, archive, cancel)
            with (
                program.run("x", "-so", "-tzstd", errors=errors) as stream,
                ReadAhead(stream.read, program.end) as ahead,
            ):
                yield ahead
                program.finish("is damaged")
        return
    with archive.open("rb") as file:
        if kind == "tar":
            yield file
            return
        with ReadAhead(_reader(file, kind).read) as ahead:
            yield ahead


def _reader(file: BinaryIO, kind: Kind) -> Readable:
    if kind == "gz":
        return gzip.GzipFile(fileobj=file, mode="rb")
    if kind == "xz":
        return _Unpacked(
            file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY), lzma.LZMAError
        )
    if kind == "bz2":
        return _Unpacked(file, bz2.BZ2Decompressor, OSError)
    from compression import zstd  # type: ignore[import-not-found]

    return _Unpacked(file, zstd.ZstdDecompressor, zstd.ZstdError)
