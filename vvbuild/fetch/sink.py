"""Where a download goes: a file that grows from one or several ends, and what of it is there."""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from vvbuild.errors import from_os_error
from vvbuild.fetch.follower import Follower
from vvbuild.fetch.ranges import Spans
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.runtime.cancel import Cancel

_HEAD = 512
# A killed process loses at most what came since the map was written last.
_SAVE_BYTES = 1 << 20
_SAVE_SECONDS = 0.2


class PieceMap(msgspec.Struct, frozen=True):
    """What lies beside a partial file: whose bytes it holds, and which of them."""

    sha256: str
    size: int | None
    source: str
    validator: str | None
    spans: list[tuple[int, int]]


class Sink:
    """A partial file of an artifact.

    ``source`` and ``validator`` tell where its bytes came from, ``parts`` from how many answers.
    With ``keep`` a map is kept beside it, and what an earlier run has left is taken up, if the
    map is about the same artifact and fits the file. Threads write at the same time, each where
    no other does; nothing else may run while it is restarted or finished.
    """

    def __init__(self, path: Path, artifact: Artifact, *, keep: bool = False) -> None:
        self.path = path
        self.source = ""
        self.validator: str | None = None
        self.parts = 0
        self.reached = 0
        self._artifact = artifact
        self._map = path.with_suffix(".map") if keep else None
        self._lock = threading.Lock()
        self._fresh = not keep
        self._spans = Spans()
        self._follower = Follower(path)
        self._saved = (0, time.monotonic())
        with self._naming_errors():
            self._take_up()

    @property
    def done(self) -> int:
        """How many bytes are there."""
        return self._spans.total

    @property
    def front(self) -> int:
        """How many of them are there without a hole before them."""
        return self._spans.front

    @property
    def whole(self) -> bool:
        """Whether nothing is missing, as far as the size is known."""
        size = self._artifact.size
        return size is not None and self.front == size

    def gaps(self) -> list[tuple[int, int]]:
        """What is missing of an artifact of known size."""
        assert self._artifact.size is not None
        return list(self._spans.gaps(self._artifact.size))

    def belongs_to(self, source: str) -> bool:
        """Whether there are bytes, and from that source."""
        return self.done > 0 and self.source == source

    @contextmanager
    def writer(self, first: int) -> Iterator[Writer]:
        """Write from ``first`` on. Raises :class:`~vvbuild.errors.ResourceError`."""
        with (
            self._naming_errors(),
            io.FileIO(self.path, "r+", opener=self._open) as stream,
        ):
            if first:
                stream.seek(first)
            yield Writer(self, stream, first)

    def restart(self) -> None:
        """Forget everything."""
        self._follower.close()
        with self._naming_errors():
            if self._map is not None:
                self._map.unlink(missing_ok=True)
            self.path.open("wb").close()
        self._spans = Spans()
        self._follower = Follower(self.path)
        self._saved = (0, time.monotonic())
        self.source, self.validator, self.parts = "", None, 0

    def head(self) -> bytes:
        """The first bytes."""
        with self._naming_errors(), self.path.open("rb") as stream:
            return stream.read(_HEAD)

    def digest(self, cancel: Cancel) -> Digest:
        """The SHA-256 of all that is there, which must be without a hole."""
        assert self.front == self.done
        with self._naming_errors():
            return self._follower.finish(self.done, cancel)

    def close(self) -> None:
        """End the hashing."""
        self._follower.close()

    def save(self) -> None:
        """Write down what is there for the next run, which is no worse off if that fails.

        The older map says less, and the reason that the run ends must not be hidden.
        """
        with self._lock, suppress(OSError):
            self._save()

    def remove(self, *, moved: bool = False) -> None:
        """Delete the file, unless it was moved away, and its map."""
        self.close()
        if not moved:
            self.path.unlink(missing_ok=True)
        if self._map is not None and self._saved[0]:
            self._map.unlink(missing_ok=True)

    def wrote(self, first: int, chunk: bytes) -> None:
        """Count bytes that the file has now."""
        end = first + len(chunk)
        with self._lock:
            self._spans.add(first, end)
            self.reached = max(self.reached, self.done)
            due = self.done - self._saved[0] >= _SAVE_BYTES
            if due and time.monotonic() - self._saved[1] >= _SAVE_SECONDS:
                self._save()
            if not self._follower.take(first, chunk):
                self._follower.advance(self._spans.front)

    def _save(self) -> None:
        self._saved = (self.done, time.monotonic())
        if self._map is None or not self.done:
            return
        size = self._artifact.size
        known = PieceMap(
            self._artifact.sha256.hex,
            None if size is None else int(size),
            self.source,
            self.validator,
            list(self._spans),
        )
        # Without a sync: after a power cut the digest of the whole tells that the map was wrong.
        beside = self._map.with_suffix(".new")
        beside.write_bytes(msgspec.json.encode(known))
        beside.replace(self._map)

    def _open(self, path: str, flags: int) -> int:
        # What lies in a file without a map is of no use, and would stay behind its last byte.
        with self._lock:
            truncate = os.O_TRUNC if self._fresh else 0
            self._fresh = False
            return os.open(path, flags | os.O_CREAT | truncate, 0o666)

    def _take_up(self) -> None:
        """Go on with what an earlier run has left, or begin with an empty file."""
        if self._map is None:
            return
        known = self._load()
        if known is not None:
            self._spans = Spans(known.spans)
        try:
            os.truncate(self.path, self._spans.end)
        except FileNotFoundError:
            pass
        if known is None:
            self._map.unlink(missing_ok=True)
            return
        self._saved = (self.done, time.monotonic())
        self.source, self.validator, self.parts = known.source, known.validator, 1
        self.reached = self.done
        self._follower.advance(self.front)

    def _load(self) -> PieceMap | None:
        if self._map is None:
            return None
        try:
            known = msgspec.json.decode(self._map.read_bytes(), type=PieceMap)
            length = self.path.stat().st_size
        except (FileNotFoundError, msgspec.DecodeError, RecursionError):
            return None
        spans = Spans(known.spans)
        wanted = self._artifact
        fits = min((first for first, _ in known.spans), default=-1) >= 0 and spans.end <= length
        same = (known.sha256, known.size) == (wanted.sha256.hex, wanted.size)
        return known if same and fits and spans.end <= wanted.limit else None

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise from_os_error(error, f"write {self._artifact.name}") from error


class Writer:
    """One end at which a partial file grows; ``at`` is the position of its next byte."""

    def __init__(self, sink: Sink, stream: io.FileIO, first: int) -> None:
        self._sink = sink
        self._stream = stream
        self.at = first

    def write(self, chunk: bytes) -> None:
        """Append bytes there."""
        count = self._stream.write(chunk)
        if count != len(chunk):
            # A disk that is nearly full takes a part, and tells why with the next one.
            rest = memoryview(chunk)
            while count < len(chunk):
                count += self._stream.write(rest[count:])
        self._sink.wrote(self.at, chunk)
        self.at += len(chunk)
