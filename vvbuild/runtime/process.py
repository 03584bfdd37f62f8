"""Children: started in a group of their own, with a clean environment, and always ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from vvbuild.errors import ExternalError, HostToolMissingError
from vvbuild.runtime.cancel import Cancel

# What a child may know of the user's environment. Everything else (tokens, PYTHON*,
# LD_LIBRARY_PATH, CUDA_PATH …) stays here: it would leak secrets or change the result.
_INHERITED = (
    "PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "COMSPEC", "PATHEXT", "TMPDIR", "TEMP", "TMP",
)  # fmt: skip
_GRACE_SECONDS = 1.0
_DRAIN_SECONDS = 10.0
_TAIL_LINES = 40
_LONGEST_LINE = 1 << 16
_KEPT_CHARACTERS = 8 << 20


@dataclass(frozen=True, slots=True)
class Result:
    """What a child that ended well has written, standard output and error together."""

    output: str


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: a short allow-list, fixed locale and seeds, then ``extra``."""
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    environment |= {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}
    environment |= extra or {}
    return environment


def end_group(process: subprocess.Popen[bytes], grace: float = _GRACE_SECONDS) -> None:
    """End a child and all that it started: politely, then by force."""
    _signal_group(process, "terminate")
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        pass
    _signal_group(process, "kill")
    process.wait()


def _signal_group(process: subprocess.Popen[bytes], how: str) -> None:
    if sys.platform == "win32":
        from vvbuild.runtime import winjob

        if not winjob.end(process):
            # /T takes the children along, but not those whose parent is gone.
            subprocess.run(
                ["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False
            )
        return
    number = signal.SIGTERM if how == "terminate" else signal.SIGKILL
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        # macOS says EPERM for a group whose members are all zombies.
        pass


def start(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str],
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.STDOUT,
) -> subprocess.Popen[bytes]:
    """Start a child in a process group of its own.

    Raises :class:`HostToolMissingError` where the program does not exist.
    """
    flags = 0
    if sys.platform == "win32":
        from vvbuild.runtime import winjob

        flags = subprocess.CREATE_NEW_PROCESS_GROUP | winjob.SUSPENDED
    try:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env=dict(environment),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=sys.platform != "win32",
            creationflags=flags,
        )
    except FileNotFoundError as error:
        raise HostToolMissingError(f"Could not start {command[0]}: {error.strerror}.") from error
    if sys.platform == "win32":
        winjob.adopt(process)
    return process


def run(
    command: Sequence[str | Path],
    *,
    cancel: Cancel,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float = 1800.0,
    on_line: Callable[[str], None] | None = None,
    error: type[ExternalError] = ExternalError,
) -> Result:
    """Run a child to its end and return what it wrote.

    The child ends with its whole group when ``cancel`` is set or ``timeout`` (seconds) passes.
    Raises ``error`` with the last lines as context if it fails.
    """
    process = start(command, cwd=cwd, environment=clean_environment(environment))
    output = _Output(process, on_line)
    forget = cancel.add(lambda: _signal_group(process, "kill"))
    timed_out = False
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        timed_out, status = True, 1
    finally:
        forget()
        end_group(process, grace=0)
        output.finish(cancel)
    cancel.check()
    if timed_out or status != 0:
        name = Path(str(command[0])).name
        how = f"took longer than {timeout:.0f} s" if timed_out else f"ended with {status}"
        raise error(
            f"{name} {how}.",
            context={"command": _shown(command), "last lines": output.text(_TAIL_LINES)},
        )
    return Result(output.text())


class _Output:
    """What a child writes, read while it runs; the last of it is kept, however much it is."""

    def __init__(
        self, process: subprocess.Popen[bytes], on_line: Callable[[str], None] | None
    ) -> None:
        assert process.stdout is not None
        self._process = process
        self._stream: IO[bytes] = process.stdout
        self._on_line = on_line
        self._lock = threading.Lock()
        self._lines: deque[str] = deque()
        self._kept = 0
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._read, name="child output", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            while raw := self._stream.readline(_LONGEST_LINE):
                self._add(raw.decode("utf-8", "replace").rstrip("\r\n"))
        except BaseException as failure:  # noqa: BLE001 - a listener's; raised where run() waits
            self._failure = failure
            _signal_group(self._process, "kill")
        finally:
            self._stream.close()

    def _add(self, line: str) -> None:
        with self._lock:
            self._lines.append(line)
            self._kept += len(line) + 1
            while self._kept > _KEPT_CHARACTERS:
                self._kept -= len(self._lines.popleft()) + 1
        if self._on_line is not None:
            self._on_line(line)

    def finish(self, cancel: Cancel) -> None:
        """Wait for the end of the stream; raise what a listener raised.

        It ends with the group. A grandchild that has left the group and holds the stream open
        is not waited for.
        """
        deadline = time.monotonic() + _DRAIN_SECONDS
        while self._thread.is_alive() and not cancel.is_set() and time.monotonic() < deadline:
            self._thread.join(0.05)
        if self._failure is not None:
            raise self._failure

    def text(self, last: int | None = None) -> str:
        """The kept lines, or only the last of them."""
        with self._lock:
            lines = list(self._lines)
        return "\n".join(lines if last is None else lines[-last:])


def _shown(command: Sequence[str | Path]) -> str:
    import shlex

    return shlex.join(str(part) for part in command)
