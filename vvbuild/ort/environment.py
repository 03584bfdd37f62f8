"""The environment that sessions live in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from enum import IntEnum
from types import TracebackType

from vvbuild.ort._handle import Handle
from vvbuild.ort.library import Library


class LogSeverity(IntEnum):
    """How bad something must be before ONNX Runtime writes it to stderr."""

    VERBOSE = 0
    INFO = 1
    WARNING = 2
    ERROR = 3
    FATAL = 4


class Environment:
    """ONNX Runtime's process-wide state: its logger and its threads.

    ONNX Runtime keeps one per process and library; while one is open, another one shares
    it together with its log severity. Closing it waits for nobody: sessions that are still
    open keep it alive.
    """

    def __init__(
        self,
        library: Library,
        *,
        log_severity: LogSeverity = LogSeverity.WARNING,
        log_id: str = "ort",
    ) -> None:
        self.library = library
        address = library.create("CreateEnv", int(log_severity), log_id.encode())
        self._handle = Handle("environment", address, lambda a: library.call("ReleaseEnv", a))

    def use(self) -> AbstractContextManager[int]:
        """Keep the environment alive for a block; gives its address."""
        return self._handle.use()

    def close(self) -> None:
        """Release the environment, or let the last session that uses it do so."""
        self._handle.close()

    def __enter__(self) -> Environment:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
