"""Many artifacts into the store at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vvbuild.errors import (
    CancelledError,
    DigestMismatchError,
    OfflineError,
    SizeMismatchError,
    VvbuildError,
    from_os_error,
)
from vvbuild.fetch.lanes import Lanes
from vvbuild.fetch.pace import Meter
from vvbuild.fetch.partials import SMALL, Partials
from vvbuild.fetch.session import Session
from vvbuild.fetch.store import Store
from vvbuild.fetch.transfer import Means, fill
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.events import Emit, Event, Progress, silent
from vvbuild.runtime.cancel import Cancel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# As many files at once as browsers and pip's successors open to one server without being refused,
# and as many connections more, for pieces of big ones.
JOBS = 8
EXTRA = 8
# A lock costs more than the transfer of a small file: those share one for some of them.
_TOGETHER = 4
# Seconds for threads to put down what they have.
_GRACE = 1.0


def fetch_all(
    artifacts: Iterable[Artifact],
    store: Store,
    *,
    session: Session,
    emit: Emit = silent,
    cancel: Cancel | None = None,
    jobs: int = JOBS,
    task: str = "fetch",
) -> dict[Digest, Path]:
    """Bring all artifacts into the store; returns where their bytes lie there.

    What the store has is not asked for, equal bytes come once, and what another process fetches
    right now is waited for while there is nothing else to do. Progress is told for each file, and
    for all together as ``task``. The first failure ends the rest; what is complete stays, and
    what is not is gone on with the next time. Raises as
    :func:`~vvbuild.fetch.transfer.fetch_artifact` does; if several files failed, one error that
    tells of each. Without a network, :class:`OfflineError` names all that is missing.
    """
    cancel = session.cancel if cancel is None else cancel
    wanted = {artifact.sha256: artifact for artifact in artifacts}
    missing = [each for each in wanted.values() if not store.has_file(each.sha256, each.size)]
    if missing:
        _refuse_offline(missing, session)
        # The scratch directory shows other processes that the store is in use.
        with store.scratch():
            partials = Partials(store.base / "partial")
            partials.prune()
            _Many(missing, store, partials, session, emit, cancel, task).run(jobs)
    return {digest: store.file_path(digest) for digest in wanted}


def _refuse_offline(missing: Sequence[Artifact], session: Session) -> None:
    """Fail before a socket opens. Files of this machine may be read without a network."""
    remote = [
        artifact
        for artifact in missing
        if not any(reference.source == "file" for reference in artifact.references)
    ]
    if session.offline and remote:
        raise OfflineError(
            f"{len(remote)} files are not in the store, and --offline forbids to fetch them.",
            context={artifact.name: f"{artifact.limit}, {artifact.sha256}" for artifact in remote},
            hint="Run once without --offline, or import a mirror.",
        )


@dataclass(frozen=True, slots=True)
class _Unit:
    """Artifacts that are fetched under one lock."""

    lock: str
    artifacts: tuple[Artifact, ...]


def _units(artifacts: Iterable[Artifact]) -> list[_Unit]:
    """The big ones first: they take longest, and small ones fill the gaps behind them."""
    big, small = [], dict[str, list[Artifact]]()
    for artifact in artifacts:
        if artifact.limit < SMALL:
            group = int(artifact.sha256.hex[:2], 16) // _TOGETHER
            small.setdefault(f"small-{group:02x}", []).append(artifact)
        else:
            big.append(artifact)
    big.sort(key=lambda artifact: -artifact.limit)
    units = [_Unit(artifact.sha256.hex, (artifact,)) for artifact in big]
    return units + [_Unit(name, tuple(group)) for name, group in small.items()]


class _Many:
    """One call's files, the threads that fetch them, and what went wrong."""

    def __init__(
        self,
        missing: Sequence[Artifact],
        store: Store,
        partials: Partials,
        session: Session,
        emit: Emit,
        cancel: Cancel,
        task: str,
    ) -> None:
        self._store = store
        self._partials = partials
        self._session = session
        self._cancel = cancel
        self._stop = Cancel()
        self._count = len(missing)
        self._overall = _Overall(missing, emit, task, session)
        self._lanes = Lanes(EXTRA)
        self._queue = deque(_units(missing))
        self._later: deque[_Unit] = deque()
        self._failures: list[tuple[str, BaseException]] = []

    def run(self, jobs: int) -> None:
        forget = self._cancel.add(self._stop.set)
        threads = [
            threading.Thread(target=self._work, daemon=True, name="vvbuild-fetch")
            for _ in range(max(1, min(jobs, len(self._queue))))
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                self._wait_for(thread)
        except BaseException:
            self._stop.set()
            raise
        finally:
            forget()
        self._cancel.check()
        if self._failures:
            raise _together(self._failures, self._count)
        self._overall.finish()

    def _wait_for(self, thread: threading.Thread) -> None:
        """Until it has ended, or has had its time to do so after all were told to stop.

        One that waits for a server then is left behind: it ends by a time limit, or with the
        process, and puts nothing into the store.
        """
        # In slices, since Windows delivers Ctrl-C only between waits.
        while thread.is_alive() and not self._stop.is_set():
            thread.join(0.2)
        thread.join(_GRACE)

    def _work(self) -> None:
        while not self._stop.is_set():
            # Both are atomic; who finds one queue empty looks into the other.
            if self._queue:
                unit, wait = _pop(self._queue), False
            else:
                unit, wait = _pop(self._later), True
            if unit is None and not self._queue:
                return
            if unit is not None:
                with self._noting(unit.artifacts[0].name):
                    self._fetch_unit(unit, wait=wait)

    def _fetch_unit(self, unit: _Unit, *, wait: bool) -> None:
        what = unit.artifacts[0].name
        emit = self._overall.emit
        with self._partials.lock(unit.lock, what, self._stop, emit, wait=wait) as held:
            if not held:
                self._later.append(unit)
                return
            for artifact in unit.artifacts:
                self._stop.check()
                with self._noting(artifact.name):
                    if not self._is_there(artifact):
                        self._fetch(artifact)
                self._overall.complete(artifact)

    def _is_there(self, artifact: Artifact) -> bool:
        """Whether another process was faster."""
        if not self._store.file_path(artifact.sha256).exists():
            return False
        return self._store.has_file(artifact.sha256, artifact.size)

    def _fetch(self, artifact: Artifact) -> None:
        means = Means(
            self._session, self._stop, self._overall.of(artifact), stay=True, lanes=self._lanes
        )
        with self._partials.open(artifact) as sink:
            fill(sink, artifact, means)
            self._stop.check()
            try:
                self._store.add_file(sink.path, artifact.sha256)
            except OSError as error:
                raise from_os_error(error, f"store {artifact.name}") from error

    @contextmanager
    def _noting(self, name: str) -> Iterator[None]:
        """Let a failure end everything, and keep it for the end."""
        try:
            yield
        except CancelledError:
            # It was told to everybody; the reason is known where it began.
            pass
        except BaseException as error:  # noqa: BLE001 - raised by the caller's thread
            self._failures.append((name, error))
            self._stop.set()


def _pop(queue: deque[_Unit]) -> _Unit | None:
    try:
        return queue.popleft()
    except IndexError:
        return None


class _Overall:
    """Progress of all files together, counted from that of each."""

    def __init__(
        self, artifacts: Sequence[Artifact], emit: Emit, task: str, session: Session
    ) -> None:
        self.emit = emit
        exact = all(artifact.size is not None for artifact in artifacts)
        total = sum(artifact.limit for artifact in artifacts) if exact else None
        self._meter = Meter(emit, task, total, session.patience.clock)
        self._lock = threading.Lock()
        self._done: dict[Digest, int] = {}
        self._sum = 0

    def of(self, artifact: Artifact) -> Emit:
        """Where the events of one file's transfer go."""

        def emit(event: Event) -> None:
            self.emit(event)
            if isinstance(event, Progress):
                self._count(artifact, event.done)

        return emit

    def complete(self, artifact: Artifact) -> None:
        """Count a file that is in the store, whoever brought it."""
        if artifact.size is not None:
            self._count(artifact, artifact.size)

    def finish(self) -> None:
        """Tell the last number."""
        self._meter.tell(self._sum, final=True)

    def _count(self, artifact: Artifact, done: int) -> None:
        with self._lock:
            self._sum += done - self._done.get(artifact.sha256, 0)
            self._done[artifact.sha256] = done
        self._meter.tell(self._sum)


def _together(failures: Sequence[tuple[str, BaseException]], count: int) -> BaseException:
    """One error for all: the only one, or the gravest kind with each as context."""
    told = [(name, error) for name, error in failures if isinstance(error, VvbuildError)]
    for _, error in failures:
        if not isinstance(error, VvbuildError):
            # A fault of our own outweighs everything.
            return error
    if len(told) == 1:
        return told[0][1]
    first = told[0][1]
    grave = [error for _, error in told if isinstance(error, _GRAVE)]
    worst = grave[0] if grave else first
    return type(worst)(
        f"Could not get {len(told)} of {count} files. {worst.message}",
        context={name: error.message for name, error in told},
        hint=worst.hint,
    )


_GRAVE = (DigestMismatchError, SizeMismatchError)
