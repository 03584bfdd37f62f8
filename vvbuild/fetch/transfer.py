"""Artifacts onto disk: whole and verified, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urlsplit

from vvbuild.errors import (
    DigestMismatchError,
    NetworkError,
    NotFoundOnServerError,
    SizeMismatchError,
    from_os_error,
)
from vvbuild.fetch.attempts import AttemptError, AttemptLog
from vvbuild.fetch.disguise import disguise_by_head, disguise_by_type
from vvbuild.fetch.failures import refuse_status
from vvbuild.fetch.lanes import Lanes, PiecePolicy
from vvbuild.fetch.pace import Meter
from vvbuild.fetch.partials import Partials
from vvbuild.fetch.pieces import ChangedError, Job, Pieces, WholeOnlyError
from vvbuild.fetch.ranges import ContentRange, is_strong, range_headers, validator
from vvbuild.fetch.session import Session
from vvbuild.fetch.sink import Sink
from vvbuild.fetch.sources import Location, resolve
from vvbuild.model.artifact import Artifact
from vvbuild.model.events import Emit, Note, silent
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import atomic_writer, current_umask

if TYPE_CHECKING:
    import httpx

_CHUNK = 1 << 20


def fetch_artifact(
    artifact: Artifact,
    dest: Path,
    *,
    session: Session,
    emit: Emit = silent,
    cancel: Cancel | None = None,
    partials: Partials | None = None,
) -> Path:
    """Put the artifact's bytes at ``dest``, from the first reference that has them.

    The file appears there in one move, after its SHA-256 was verified while it came in; on any
    failure nothing is left, and what stood at ``dest`` stays. With ``partials``, what has come
    lies there meanwhile, and a later call goes on with it, also after a killed process; one
    process at a time fetches the same bytes. Memory use does not depend on the size. Nothing is
    forced to the disk: after a power cut, look at what is there by its digest. Raises the gravest
    of what happened, with every attempt in its context: :class:`DigestMismatchError`,
    :class:`SizeMismatchError`, :class:`NotFoundOnServerError`, :class:`NetworkError`; or at once
    :class:`~vvbuild.errors.OfflineError`, :class:`~vvbuild.errors.DiskFullError`,
    :class:`~vvbuild.errors.CancelledError`.
    """
    cancel = session.cancel if cancel is None else cancel
    with ExitStack() as stack:
        if partials is None:
            sink = stack.enter_context(_temporary(dest, artifact))
        else:
            name = artifact.sha256.hex
            stack.enter_context(partials.lock(name, artifact.name, cancel, emit))
            sink = stack.enter_context(partials.open(artifact))
        fill(sink, artifact, Means(session, cancel, emit))
        try:
            _move(sink.path, dest)
        except OSError as error:
            raise from_os_error(error, f"write {dest.name}") from error
    return dest


@dataclass(frozen=True, slots=True)
class Means:
    """What a transfer works with, and may share with others.

    ``stay`` is for threads that nobody waits for once all is cancelled.
    """

    session: Session
    cancel: Cancel
    emit: Emit = silent
    stay: bool = False
    lanes: Lanes = field(default_factory=lambda: Lanes(PiecePolicy().most - 1))


def fill(sink: Sink, artifact: Artifact, means: Means) -> None:
    """Complete a partial file, so that it holds exactly the artifact's bytes.

    Raises as :func:`fetch_artifact` does; the sink then holds what a later call can go on with.
    """
    log = AttemptLog(artifact.name)
    # Where the bytes came from that are there already may give the rest of them.
    for reference in sorted(artifact.references, key=lambda each: str(each) != sink.source):
        try:
            with means.lanes.own():
                _Fetch(artifact, reference, sink, means, log).run()
        except AttemptError:
            # It is in the log; the next reference may do better.
            continue
        sink.close()
        return
    raise log.error()


@contextmanager
def _temporary(dest: Path, artifact: Artifact) -> Iterator[Sink]:
    """A sink beside ``dest`` that is gone in the end."""
    try:
        dest.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            prefix=f".{dest.name[:40]}.", suffix=".part", dir=dest.parent
        )
    except OSError as error:
        raise from_os_error(error, f"write {dest.name}") from error
    os.close(handle)
    sink = None
    try:
        sink = Sink(Path(name), artifact)
        yield sink
    finally:
        if sink is not None:
            sink.close()
        Path(name).unlink(missing_ok=True)


def _move(source: Path, dest: Path) -> None:
    """Put a file in its place in one move, with the mode that the user's new files have."""
    dest.parent.mkdir(parents=True, exist_ok=True)
    source.chmod(0o666 & ~current_umask())
    try:
        source.replace(dest)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with source.open("rb") as reader, atomic_writer(dest) as writer:
            shutil.copyfileobj(reader, writer, _CHUNK)
        source.unlink()


class _Fetch:
    """One artifact from one reference, over as many requests as it takes."""

    def __init__(
        self,
        artifact: Artifact,
        reference: Reference,
        sink: Sink,
        means: Means,
        log: AttemptLog,
    ) -> None:
        session = means.session
        self._artifact = artifact
        self._reference = reference
        self._sink = sink
        self._means = means
        self._session = session
        self._cancel = means.cancel
        self._log = log
        self._meter = Meter(means.emit, artifact.name, artifact.size, session.patience.clock)
        self._deadline = session.patience.clock() + session.timeouts.file
        self._ranges = True
        self._pieces = artifact.size is not None and artifact.size >= session.pieces.least

    def run(self) -> None:
        """Fill the sink with the right bytes. Raises ``AttemptError`` when that is hopeless."""
        if not self._sink.belongs_to(str(self._reference)):
            self._restart()
        emit = self._means.emit
        location = resolve(
            self._reference, self._session, log=self._log, cancel=self._cancel, emit=emit
        )
        local = urlsplit(location.url).scheme == "file"

        def once() -> None:
            self._compare_hints(location)
            self._sink.source = str(self._reference)
            if local:
                self._copy(_local_path(location.url))
            elif not self._sink.whole:
                self._get(location.url)
            self._compare_digest()

        self._session.patience.persist(
            once,
            source=str(self._reference),
            log=self._log,
            cancel=self._cancel,
            emit=emit,
            reached=lambda: self._sink.reached,
        )

    def _restart(self) -> None:
        if self._sink.done:
            self._sink.restart()
            self._meter.restart()
        self._sink.source = str(self._reference)

    def _compare_hints(self, location: Location) -> None:
        """What the index itself says of the file must agree with the lock, before any byte."""
        wanted, claimed = self._artifact, location
        if claimed.sha256_hint is not None and claimed.sha256_hint != wanted.sha256:
            raise AttemptError(
                f"its index says SHA-256 {claimed.sha256_hint}, the lock says {wanted.sha256}",
                error=DigestMismatchError,
            )
        if claimed.size_hint is not None:
            self._compare_size(claimed.size_hint, "its index says")

    def _compare_size(self, claimed: int, who: str) -> None:
        size = self._artifact.size
        if (size is not None and claimed != size) or claimed > self._artifact.limit:
            says = "says" if size is not None else "allows"
            raise AttemptError(
                f"{who} {claimed} bytes, the lock {says} {int(self._artifact.limit)}",
                error=SizeMismatchError,
            )

    def _get(self, url: str) -> None:
        """Fetch what is missing: over several connections if that can be, else over one."""
        tries = 2
        while self._pieces and tries:
            tries -= 1
            if self._in_pieces(url):
                return
        self._pieces = False
        self._request(url)

    def _in_pieces(self, url: str) -> bool:
        """Fetch over several connections; ``False``, with an empty sink, where that cannot be."""
        try:
            Pieces(self._job(url)).run()
        except ChangedError:
            text = f"{self._artifact.name}: changed on the server meanwhile; starting over"
            self._means.emit(Note(text, level="warning"))
        except WholeOnlyError:
            self._pieces = False
        else:
            self._meter.tell(self._sink.done, final=True)
            return True
        self._restart()
        return False

    def _job(self, url: str) -> Job:
        return Job(
            url=url,
            sink=self._sink,
            session=self._session,
            cancel=self._cancel,
            deadline=self._deadline,
            meter=self._meter,
            lanes=self._means.lanes,
            policy=self._session.pieces,
            compare_size=lambda size: self._compare_size(size, "it announces"),
        )

    def _request(self, url: str) -> None:
        sink = self._sink
        resuming = sink.done > 0 and self._ranges and sink.front == sink.done
        if not resuming:
            self._restart()
        headers = range_headers(sink.done, sink.validator) if resuming else {}
        big = self._artifact.limit >= self._session.pieces.least
        stay = self._means.stay and not big
        with self._session.open(url, headers, self._cancel, alone=big, stay=stay) as response:
            if resuming and response.status_code != 200:
                self._accept_part(response)
            else:
                refuse_status(response)
                self._accept_whole(response)
            self._read(response)

    def _accept_whole(self, response: httpx.Response) -> None:
        """Judge an answer that begins at the first byte, before its body is read."""
        self._restart()
        self._sink.parts = 1
        self._sink.validator = validator(response.headers)
        declared = _length(response)
        if declared is None:
            return
        try:
            self._compare_size(declared, "it announces")
        except AttemptError as mismatch:
            what = disguise_by_type(self._artifact.name, response.headers.get("content-type"))
            if what is not None:
                raise AttemptError(f"sent {what} where the file should be") from None
            coding = response.headers.get("content-encoding")
            if coding is not None:
                mismatch.what += f"; it is encoded as {coding!r}, against our request"
            raise

    def _accept_part(self, response: httpx.Response) -> None:
        """Judge the answer to a range: it must continue exactly where we stopped."""
        if response.status_code == 416:
            self._ranges = False
            raise AttemptError("refused the range; starting over", retry=True)
        if response.status_code != 206:
            refuse_status(response)
        part = ContentRange.parse(response.headers.get("content-range"))
        if part is None or part.first != self._sink.done:
            self._ranges = False
            came = response.headers.get("content-range", "no Content-Range")
            raise AttemptError(
                f"was asked for bytes from {self._sink.done} on and sent {came!r}; starting over",
                retry=True,
            )
        if part.total is not None:
            self._compare_size(part.total, "it announces")
        known = validator(response.headers)
        if is_strong(known) and is_strong(self._sink.validator) and known != self._sink.validator:
            self._ranges = False
            raise AttemptError("sent a part of another file; starting over", retry=True)
        self._sink.parts += 1

    def _read(self, response: httpx.Response) -> None:
        sink, limit = self._sink, self._artifact.limit
        pace = self._session.pace(self._deadline)
        self._meter.tell(sink.done)
        with sink.writer(sink.done) as writer:
            for chunk in response.iter_raw():
                if writer.at + len(chunk) > limit:
                    raise AttemptError(
                        f"sent more than {int(limit)} bytes, all that is allowed",
                        error=SizeMismatchError,
                    )
                writer.write(chunk)
                pace.tick(len(chunk))
                self._meter.tell(writer.at)
                self._cancel.check()
        self._cancel.check()
        size = self._artifact.size
        if size is not None and sink.done < size:
            raise AttemptError(
                f"the connection ended after {sink.done} of {int(size)} bytes", retry=True
            )
        self._meter.tell(sink.done, final=True)

    def _copy(self, path: Path) -> None:
        """A local file through the same checks."""
        self._restart()
        self._sink.parts = 1
        try:
            if not path.is_file():
                raise AttemptError("there is no such file", error=NotFoundOnServerError)
            self._compare_size(path.stat().st_size, "it has")
            source = path.open("rb")
        except OSError as error:
            raise AttemptError(f"could not be read: {error.strerror}") from error
        with source, self._sink.writer(0) as writer:
            while chunk := _read_local(source):
                writer.write(chunk)
                self._meter.tell(writer.at)
                self._cancel.check()
        self._meter.tell(self._sink.done, final=True)

    def _compare_digest(self) -> None:
        sink, wanted = self._sink, self._artifact.sha256
        done, digest = sink.done, sink.digest(self._cancel)
        if digest == wanted:
            return
        parts, head = sink.parts, sink.head()
        self._restart()
        if parts > 1:
            self._ranges = self._pieces = False
            raise AttemptError(
                f"sent {parts} parts that do not fit together; starting over",
                error=DigestMismatchError,
                retry=True,
            )
        what = disguise_by_head(self._artifact.name, head)
        if what is not None:
            raise AttemptError(f"sent {what} where the file should be", error=NetworkError)
        raise AttemptError(
            f"sent {ByteSize(done)} with SHA-256 {digest}, the lock says {wanted}",
            error=DigestMismatchError,
        )


def _local_path(url: str) -> Path:
    from urllib.request import url2pathname

    return Path(url2pathname(urlsplit(url).path))


def _read_local(source: BinaryIO) -> bytes:
    try:
        return source.read(_CHUNK)
    except OSError as error:
        raise AttemptError(f"could not be read: {error.strerror}") from error


def _length(response: httpx.Response) -> int | None:
    text = response.headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() else None
