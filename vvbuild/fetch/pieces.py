"""One big file over several connections.

A server or a network that grants each connection only so much gives several of them more. The
missing bytes are cut into pieces, in order. The calling thread leads: it fetches one piece after
the other, as it would a whole file. Helpers fetch the next ones beside it while that may help. A
helper decides nothing: when something goes wrong it gives its piece back and leaves, and if the
trouble lasts, the leader meets it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vvbuild.errors import CancelledError
from vvbuild.fetch.attempts import AttemptError
from vvbuild.fetch.failures import refuse_status
from vvbuild.fetch.lanes import Lanes, PiecePolicy
from vvbuild.fetch.pace import Meter
from vvbuild.fetch.ranges import ContentRange, cut, is_strong, range_headers, validator
from vvbuild.fetch.session import Session
from vvbuild.fetch.sink import Sink
from vvbuild.runtime.cancel import Cancel

if TYPE_CHECKING:
    import httpx

# Seconds over which the leader's speed is measured.
_SPAN = 0.1


class WholeOnlyError(Exception):
    """The server does not serve parts of this file so that they could be put together."""


class ChangedError(Exception):
    """The server has other bytes than those that came so far."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is fetched from where, and what all its connections share."""

    url: str
    sink: Sink
    session: Session
    cancel: Cancel
    deadline: float
    meter: Meter
    lanes: Lanes
    policy: PiecePolicy
    compare_size: Callable[[int], None]


@dataclass
class _Piece:
    """Bytes that are missing: from ``at``, which moves as they come, to ``end``, exclusive."""

    at: int
    end: int


class Pieces:
    """The missing pieces of one file from one server."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._queue = deque(_Piece(*gap) for gap in cut(job.sink.gaps(), job.policy.piece))
        self._changed = threading.Condition()
        self._stop = Cancel()
        self._helpers = 0
        self._most = job.policy.most - 1
        self._trouble: BaseException | None = None

    def run(self) -> None:
        """Fill all gaps of the sink; no helper is at work any more when this ends.

        Raises ``AttemptError`` as a transfer over one connection does, and what the disk says;
        :class:`WholeOnlyError` and :class:`ChangedError`, after which nothing that is in the
        sink can be gone on with.
        """
        forget = self._job.cancel.add(self._stop.set)
        try:
            while (piece := self._next()) is not None:
                self._fetch(piece, leads=True)
        except CancelledError:
            self._job.cancel.check()
            if self._trouble is not None:
                raise self._trouble from None
            raise
        finally:
            forget()
            self._stop.set()
            with self._changed:
                while self._helpers:
                    self._changed.wait()

    def _next(self) -> _Piece | None:
        """The leader's next piece. Waits for helpers, since they may give theirs back."""
        with self._changed:
            while not self._queue and self._helpers:
                self._changed.wait(0.2)
            self._stop.check()
            return self._queue.popleft() if self._queue else None

    def _fetch(self, piece: _Piece, *, leads: bool) -> None:
        job = self._job
        headers = range_headers(piece.at, job.sink.validator, piece.end)
        try:
            with job.session.open(job.url, headers, self._stop, alone=True) as response:
                self._judge(response, piece)
                self._read(response, piece, leads=leads)
        except BaseException:
            with self._changed:
                self._queue.appendleft(piece)
            raise

    def _judge(self, response: httpx.Response, piece: _Piece) -> None:
        """Whether the answer is exactly what was asked for, of the file that was begun."""
        sink = self._job.sink
        if response.status_code == 200:
            raise WholeOnlyError if sink.validator is None else ChangedError
        if response.status_code == 416:
            raise WholeOnlyError
        if response.status_code != 206:
            refuse_status(response)
        part = ContentRange.parse(response.headers.get("content-range"))
        if part is None or part.first != piece.at:
            raise WholeOnlyError
        if part.total is not None:
            self._job.compare_size(part.total)
        known = validator(response.headers)
        if part.last != piece.end - 1 or not is_strong(known):
            raise WholeOnlyError
        if known != sink.validator is not None:
            raise ChangedError
        sink.validator = known
        sink.parts += 1

    def _read(self, response: httpx.Response, piece: _Piece, *, leads: bool) -> None:
        job, pace = self._job, self._job.session.pace(self._job.deadline)
        speed = _Speed(job) if leads else None
        job.meter.tell(job.sink.done)
        if speed is not None and speed.asks_for_help(0):
            self._call_helpers()
        with job.sink.writer(piece.at) as writer:
            for chunk in response.iter_raw():
                if len(chunk) > piece.end - piece.at:
                    raise WholeOnlyError
                writer.write(chunk)
                piece.at = writer.at
                pace.tick(len(chunk))
                job.meter.tell(job.sink.done)
                self._stop.check()
                if speed is not None and speed.asks_for_help(len(chunk)):
                    self._call_helpers()
        self._stop.check()
        if piece.at < piece.end:
            raise AttemptError("the connection ended in the middle of a piece", retry=True)

    def _call_helpers(self) -> None:
        """Start helpers while there are pieces, and connections that may be opened."""
        with self._changed:
            while self._helpers < min(self._most, len(self._queue)) and self._job.lanes.enter():
                self._helpers += 1
                threading.Thread(target=self._help, daemon=True, name="vvbuild-piece").start()

    def _help(self) -> None:
        try:
            while (piece := self._take()) is not None:
                if not self._brings(piece):
                    break
        except CancelledError:
            # All have been told.
            pass
        except BaseException as error:  # noqa: BLE001 - the leader raises it
            self._trouble = error
            self._stop.set()
        finally:
            self._job.lanes.leave()
            with self._changed:
                self._helpers -= 1
                self._changed.notify_all()

    def _brings(self, piece: _Piece) -> bool:
        """Fetch a piece; ``False`` when the helper shall leave."""
        began = piece.at
        try:
            self._fetch(piece, leads=False)
        except (AttemptError, WholeOnlyError, ChangedError):
            if piece.at - began < self._job.session.patience.policy.progress_bytes:
                # Perhaps the server does not want so many.
                self._most -= 1
            return False
        return True

    def _take(self) -> _Piece | None:
        with self._changed:
            return self._queue.popleft() if self._queue else None


class _Speed:
    """How fast the leader's connection is."""

    def __init__(self, job: Job) -> None:
        self._clock = job.session.patience.clock
        self._lanes = job.lanes
        self._enough = job.policy.enough
        self._began = self._clock()
        self._bytes = 0

    def asks_for_help(self, count: int) -> bool:
        """Count bytes; whether more connections may bring more."""
        if self._enough == float("inf"):
            return True
        if not count:
            return False
        self._bytes += count
        now = self._clock()
        seconds = now - self._began
        if seconds < _SPAN:
            return False
        slow = self._bytes / seconds * self._lanes.used < self._enough
        self._began, self._bytes = now, 0
        return slow
