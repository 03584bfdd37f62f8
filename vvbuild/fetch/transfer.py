"""Artifacts onto disk: whole and verified, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
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
from vvbuild.fetch.pace import Meter
from vvbuild.fetch.ranges import ContentRange, range_headers, validator
from vvbuild.fetch.session import Session
from vvbuild.fetch.sink import Sink
from vvbuild.fetch.sources import Location, resolve
from vvbuild.model.artifact import Artifact
from vvbuild.model.events import Emit, silent
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import atomic_writer

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
) -> Path:
    """Put the artifact's bytes at ``dest``, from the first reference that has them.

    The file appears there in one move, after its SHA-256 was verified while it came in; on any
    failure nothing is left, and what stood at ``dest`` stays. Memory use does not depend on the
    size. Raises the gravest of what happened, with every attempt in its context:
    :class:`DigestMismatchError`, :class:`SizeMismatchError`, :class:`NotFoundOnServerError`,
    :class:`NetworkError`; or at once :class:`~vvbuild.errors.OfflineError`,
    :class:`~vvbuild.errors.DiskFullError`, :class:`~vvbuild.errors.CancelledError`.
    """
    cancel = session.cancel if cancel is None else cancel
    log = AttemptLog(artifact.name)
    try:
        with atomic_writer(dest) as stream:
            sink = Sink(stream, dest.name)
            for reference in artifact.references:
                try:
                    _Fetch(artifact, reference, sink, session, emit, cancel, log).run()
                    break
                except AttemptError:
                    # It is in the log; the next reference may do better.
                    sink.restart()
            else:
                raise log.error()
    except OSError as error:
        raise from_os_error(error, f"write {dest.name}") from error
    return dest


class _Fetch:
    """One artifact from one reference, over as many requests as it takes."""

    def __init__(
        self,
        artifact: Artifact,
        reference: Reference,
        sink: Sink,
        session: Session,
        emit: Emit,
        cancel: Cancel,
        log: AttemptLog,
    ) -> None:
        self._artifact = artifact
        self._reference = reference
        self._sink = sink
        self._session = session
        self._emit = emit
        self._cancel = cancel
        self._log = log
        self._meter = Meter(emit, artifact.name, artifact.size, session.patience.clock)
        self._deadline = session.patience.clock() + session.timeouts.file
        self._validator: str | None = None
        self._ranges = True
        self._parts = 0

    def run(self) -> None:
        """Fill the sink with the right bytes. Raises ``AttemptError`` when that is hopeless."""
        location = resolve(
            self._reference, self._session, log=self._log, cancel=self._cancel, emit=self._emit
        )
        local = urlsplit(location.url).scheme == "file"

        def once() -> None:
            self._compare_hints(location)
            if local:
                self._copy(_local_path(location.url))
            else:
                self._request(location.url)
            self._compare_digest()

        self._session.patience.persist(
            once,
            source=str(self._reference),
            log=self._log,
            cancel=self._cancel,
            emit=self._emit,
            reached=lambda: self._sink.reached,
        )

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

    def _request(self, url: str) -> None:
        sink = self._sink
        resuming = sink.done > 0 and self._ranges
        if sink.done and not resuming:
            sink.restart()
        headers = range_headers(sink.done, self._validator) if resuming else {}
        with self._session.open(url, headers, self._cancel) as response:
            if resuming and response.status_code != 200:
                self._accept_part(response)
            else:
                refuse_status(response)
                self._accept_whole(response)
            self._read(response)

    def _accept_whole(self, response: httpx.Response) -> None:
        """Judge an answer that begins at the first byte, before its body is read."""
        if self._sink.done:
            self._sink.restart()
        self._parts = 1
        self._validator = validator(response.headers)
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
        self._parts += 1

    def _read(self, response: httpx.Response) -> None:
        sink, limit = self._sink, self._artifact.limit
        pace = self._session.pace(self._deadline)
        self._meter.tell(sink.done)
        for chunk in response.iter_raw():
            if sink.done + len(chunk) > limit:
                raise AttemptError(
                    f"sent more than {int(limit)} bytes, all that is allowed",
                    error=SizeMismatchError,
                )
            sink.write(chunk)
            pace.tick(len(chunk))
            self._meter.tell(sink.done)
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
        self._parts = 1
        try:
            if not path.is_file():
                raise AttemptError("there is no such file", error=NotFoundOnServerError)
            self._compare_size(path.stat().st_size, "it has")
            with path.open("rb") as source:
                while chunk := source.read(_CHUNK):
                    self._sink.write(chunk)
                    self._meter.tell(self._sink.done)
                    self._cancel.check()
        except OSError as error:
            raise AttemptError(f"could not be read: {error.strerror}") from error
        self._meter.tell(self._sink.done, final=True)

    def _compare_digest(self) -> None:
        sink, wanted = self._sink, self._artifact.sha256
        if sink.digest == wanted:
            return
        if self._parts > 1:
            self._ranges = False
            raise AttemptError(
                f"sent {self._parts} parts that do not fit together; starting over",
                error=DigestMismatchError,
                retry=True,
            )
        what = disguise_by_head(self._artifact.name, sink.head)
        if what is not None:
            raise AttemptError(f"sent {what} where the file should be", error=NetworkError)
        raise AttemptError(
            f"sent {ByteSize(sink.done)} with SHA-256 {sink.digest}, the lock says {wanted}",
            error=DigestMismatchError,
        )


def _local_path(url: str) -> Path:
    from urllib.request import url2pathname

    return Path(url2pathname(urlsplit(url).path))


def _length(response: httpx.Response) -> int | None:
    text = response.headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() else None
