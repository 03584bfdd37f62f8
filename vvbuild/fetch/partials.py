"""Where unfinished downloads lie, so that another run goes on with them.

One directory, ``partial/`` of the store::

    <sha256>.part    bytes that have come        <sha256>.map    which ones, and from where
    <sha256>.lock    held by who fetches it      small-ab.lock   the same for many small files

Who holds a lock and dies gives it free; the file stays, and the next holder goes on with it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vvbuild.errors import from_os_error
from vvbuild.fetch.sink import Sink
from vvbuild.model.artifact import Artifact
from vvbuild.model.events import Emit, Note, silent
from vvbuild.runtime.cancel import Cancel

# What nobody went on with for a week will not be wanted any more.
KEPT_SECONDS = 7 * 24 * 3600.0
# Bytes below which a file is fetched anew rather than gone on with.
SMALL = 1 << 20


class Partials:
    """The partial files below ``directory``, shared with other processes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._prefix = f"{directory}{os.sep}"
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise from_os_error(error, "make the directory of partial downloads") from error

    @contextmanager
    def open(self, artifact: Artifact) -> Iterator[Sink]:
        """The partial file of an artifact whose lock is held.

        The block moves the file away. If it fails, the file stays for the next run; a small one
        is not worth that.
        """
        keep = artifact.limit >= SMALL
        sink = Sink(Path(f"{self._prefix}{artifact.sha256.hex}.part"), artifact, keep=keep)
        try:
            yield sink
        except BaseException:
            if keep and sink.done:
                sink.close()
                sink.save()
            else:
                sink.remove()
            raise
        sink.remove(moved=True)

    @contextmanager
    def lock(
        self, name: str, what: str, cancel: Cancel, emit: Emit = silent, *, wait: bool = True
    ) -> Iterator[bool]:
        """Hold a lock, waiting for the process that has it; or yield ``False`` without ``wait``."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.directory / f"{name}.lock", thread_local=False)
        told = False
        try:
            while True:
                cancel.check()
                try:
                    lock.acquire(timeout=0.2 if told else 0, poll_interval=0.05)
                    break
                except Timeout:
                    if not wait:
                        yield False
                        return
                    if not told:
                        emit(Note(f"Another process is fetching {what}; waiting for it."))
                    told = True
        except OSError as error:
            raise from_os_error(error, f"lock {what}") from error
        try:
            yield True
        finally:
            lock.release()

    def prune(self, seconds: float = KEPT_SECONDS) -> int:
        """Delete what nobody touched for that long; returns how many bytes that were.

        What is being fetched now, and what seems to come from the future, stays.
        """
        freed = 0
        for part in self.directory.glob("*.part"):
            if self._age(part) >= seconds:
                with self.lock(part.stem, part.stem, Cancel(), wait=False) as held:
                    if held and self._age(part) >= seconds:
                        freed += _size(part)
                        part.unlink(missing_ok=True)
                        part.with_suffix(".map").unlink(missing_ok=True)
        return freed

    def _age(self, path: Path) -> float:
        try:
            return time.time() - path.stat().st_mtime
        except FileNotFoundError:
            return -1.0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
