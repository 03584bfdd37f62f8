"""What a child writes: never in its way, kept up to a limit, its end at hand."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import IO

_TAIL_BYTES = 64 << 10
_LOG_BYTES = 16 << 20
_READ = 64 << 10


class Output:
    """Drains a child's pipe into a log file, and remembers the end.

    The log stops at 16 MiB, so that a child that never stops writing cannot fill the disk.
    """

    def __init__(self, stream: IO[bytes], log: Path) -> None:
        self._stream = stream
        self._log = log
        self._lock = threading.Lock()
        self._tail = bytearray()
        self._thread = threading.Thread(target=self._drain, name="engine output", daemon=True)
        self._thread.start()

    def last_lines(self, count: int = 40) -> str:
        """The last lines so far."""
        with self._lock:
            text = self._tail.decode("utf-8", "replace")
        return "\n".join(text.splitlines()[-count:])

    def finish(self, seconds: float = 1.0) -> None:
        """Wait for what an ended child has still in the pipe."""
        self._thread.join(seconds)

    def _drain(self) -> None:
        written = 0
        with self._stream, self._log.open("wb") as log:
            # read1 gives what is there; read would wait for a full buffer.
            while piece := self._stream.read1(_READ):  # type: ignore[attr-defined]
                with self._lock:
                    self._tail += piece
                    del self._tail[:-_TAIL_BYTES]
                if written < _LOG_BYTES:
                    written += self._write(log, piece)

    @staticmethod
    def _write(log: IO[bytes], piece: bytes) -> int:
        try:
            log.write(piece)
            log.flush()
        except OSError:
            # A full disk: the log ends here, the engine goes on.
            return _LOG_BYTES
        return len(piece)
