"""Write a stream of bytes into parts of a fixed size, hashing each part and the whole.

Everything happens in one pass: no byte is written twice or read back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from vvbuild.bundle.archive.names import check_volume_size
from vvbuild.model.digest import Digest
from vvbuild.model.size import ByteSize


@dataclass(frozen=True, slots=True)
class Part:
    """A finished part."""

    path: Path
    size: ByteSize
    sha256: Digest


@dataclass(frozen=True, slots=True)
class Volumes:
    """All parts in order, with the size and digest of their concatenation."""

    parts: tuple[Part, ...]
    size: ByteSize
    sha256: Digest


class VolumeWriter:
    """A sequential writer that starts a new file whenever the last one is full.

    ``namer(n)`` names part ``n`` (from 1). If all bytes fit into one part, that part is
    called ``single_name`` in the end. Parts are made when their first byte comes, so that a
    stream which fills its last part exactly leaves no empty one behind.

    Used as a context manager; leaving the block with an error deletes what was written.
    Raises :class:`~vvbuild.errors.UsageError` for a part size that GitHub would refuse, and
    ``FileExistsError`` rather than overwriting anything.
    """

    def __init__(
        self, directory: Path, namer: Callable[[int], str], volume_size: int, single_name: str
    ) -> None:
        self._directory = directory
        self._namer = namer
        self._volume_size = check_volume_size(volume_size)
        self._single_name = single_name
        self._whole = hashlib.sha256()
        self._written = 0
        self._parts: list[Part] = []
        self._paths: list[Path] = []
        self._open: tuple[BinaryIO, Path] | None = None
        self._part_hash = hashlib.sha256()
        self._part_size = 0
        self._result: Volumes | None = None

    def __enter__(self) -> VolumeWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._discard()

    def tell(self) -> int:
        """How many bytes have been written to all parts."""
        return self._written

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes; returns their number."""
        view = memoryview(data).cast("B")
        self._whole.update(view)
        self._written += len(view)
        rest = view
        while rest:
            if self._part_size == self._volume_size:
                self._finish_part()
            stream = self._stream()
            piece = rest[: self._volume_size - self._part_size]
            stream.write(piece)
            self._part_hash.update(piece)
            self._part_size += len(piece)
            rest = rest[len(piece) :]
        return len(view)

    def close(self) -> Volumes:
        """Finish the last part, give a lone part its name, and tell what was written."""
        if self._result is None:
            self._stream()
            self._finish_part()
            if len(self._parts) == 1:
                self._rename_single()
            self._result = Volumes(
                tuple(self._parts), ByteSize(self._written), Digest(self._whole.hexdigest())
            )
        return self._result

    def _stream(self) -> BinaryIO:
        if self._open is None:
            path = self._directory / self._namer(len(self._parts) + 1)
            stream = path.open("xb")
            self._paths.append(path)
            self._open = (stream, path)
        return self._open[0]

    def _finish_part(self) -> None:
        assert self._open is not None
        stream, path = self._open
        stream.close()
        self._open = None
        digest = Digest(self._part_hash.hexdigest())
        self._parts.append(Part(path, ByteSize(self._part_size), digest))
        self._part_hash = hashlib.sha256()
        self._part_size = 0

    def _rename_single(self) -> None:
        part = self._parts[0]
        path = self._directory / self._single_name
        if path != part.path:
            if path.exists():
                raise FileExistsError(17, "File exists", str(path))
            part.path.rename(path)
            self._paths = [path]
            self._parts[0] = Part(path, part.size, part.sha256)

    def _discard(self) -> None:
        if self._open is not None:
            self._open[0].close()
        for path in self._paths:
            path.unlink(missing_ok=True)
