"""The environment that sessions live in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from enum import IntEnum

from vvbuild.ort._handle import Handle, Owner
from vvbuild.ort.library import Library


class LogSeverity(IntEnum):
    """How bad something must be before ONNX Runtime writes it to stderr."""

    VERBOSE = 0
    INFO = 1
    WARNING = 2
    ERROR = 3
    FATAL = 4


class Environment(Owner):
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
