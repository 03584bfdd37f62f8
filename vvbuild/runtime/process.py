"""Children: started in a group of their own, with a clean environment, and always ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vvbuild.errors import ExternalError, HostToolMissingError
from vvbuild.runtime.cancel import Cancel

# What a child may know of the user's environment. Everything else (tokens, PYTHON*,
# LD_LIBRARY_PATH, CUDA_PATH …) stays here: it would leak secrets or change the result.
_INHERITED = (
    "PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "COMSPEC", "PATHEXT", "TMPDIR", "TEMP", "TMP",
)  # fmt: skip
_GRACE_SECONDS = 1.0
_TAIL_LINES = 40


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
        # /T takes the children along; a Job Object would also catch orphans (untried here).
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
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.STDOUT,
) -> subprocess.Popen[bytes]:
    """Start a child in a process group of its own.

    Raises :class:`HostToolMissingError` where the program does not exist.
    """
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    try:
        return subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=sys.platform != "win32",
            creationflags=flags,
        )
    except FileNotFoundError as error:
        raise HostToolMissingError(f"Could not start {command[0]}: {error.strerror}.") from error


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
    forget = cancel.add(lambda: _signal_group(process, "kill"))
    timed_out = threading.Event()

    def expire() -> None:
        timed_out.set()
        _signal_group(process, "kill")

    timer = threading.Timer(timeout, expire)
    timer.daemon = True
    timer.start()
    lines: deque[str] = deque(maxlen=10_000)
    try:
        assert process.stdout is not None
        for raw in process.stdout:
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            lines.append(line)
            if on_line is not None:
                on_line(line)
        status = process.wait()
    finally:
        timer.cancel()
        forget()
        end_group(process, grace=0)
        if process.stdout is not None:
            process.stdout.close()
    cancel.check()
    if timed_out.is_set() or status != 0:
        name = Path(str(command[0])).name
        how = f"took longer than {timeout:.0f} s" if timed_out.is_set() else f"ended with {status}"
        tail = "\n".join(list(lines)[-_TAIL_LINES:])
        raise error(f"{name} {how}.", context={"command": _shown(command), "last lines": tail})
    return Result("\n".join(lines))


def _shown(command: Sequence[str | Path]) -> str:
    import shlex

    return shlex.join(str(part) for part in command)
