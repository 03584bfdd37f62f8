"""The engine as a child: started, watched, stopped, and never left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vvbuild.errors import EngineError, HostToolMissingError
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.process import clean_environment, end_group, start
from vvbuild.smoke import processes
from vvbuild.smoke.interrupts import deferred_interrupts
from vvbuild.smoke.output import Output
from vvbuild.smoke.subject import Subject

_HOST = "127.0.0.1"
_SIGTERM = 15
_POLL = 0.02
# How long children may take to follow a parent that has ended well.
_FOLLOW = 0.5


@dataclass(frozen=True, slots=True)
class Stopped:
    """How a polite end went. ``status`` is ``None`` if there was none in time."""

    seconds: float
    status: int | None
    left: tuple[str, ...]
    port_free: bool

    @property
    def proper(self) -> bool:
        """Whether it ended as a program does that was asked to, or that does not listen."""
        # A shell in between reports the signal as 128 + 15. Windows knows only force.
        return sys.platform == "win32" or self.status in (0, -_SIGTERM, 128 + _SIGTERM)


class Engine:
    """One run of an engine. ``home`` is an empty directory of its own, below a unique one."""

    def __init__(self, subject: Subject, home: Path, cancel: Cancel) -> None:
        self._subject = subject
        self._home = home
        self._cancel = cancel
        self._process: subprocess.Popen[bytes] | None = None
        self._output: Output | None = None
        self._forget: Callable[[], None] | None = None
        self._born = 0.0
        self.port = _free_port()

    @property
    def group(self) -> int:
        """The number of its process group."""
        return self._running().pid

    def start(self) -> None:
        """Start the program; raises :class:`EngineError` if the system refuses."""
        command = [*self._subject.command, "--host", _HOST, "--port", str(self.port)]
        environment = clean_environment(_own_environment(self._home))
        log = self._home / "engine.log"
        try:
            # Nothing may come between the birth of a child and the note that it is there.
            with deferred_interrupts():
                self._born = time.perf_counter()
                process = start(command, cwd=self._subject.directory, environment=environment)
                self._process = process
                assert process.stdout is not None
                self._output = Output(process.stdout, log)
                self._forget = self._cancel.add(self._kill)
        except (OSError, HostToolMissingError) as error:
            raise EngineError(
                f"The engine's program cannot be started: {error}",
                context={"program": command[0]},
                hint="Is the bundle for this machine, and does the program have its execute bit?",
            ) from error

    def wait_for(self, answers: Callable[[float], bool], timeout: float) -> float:
        """Ask until somebody answers, and make sure who it is; returns the seconds since birth.

        ``answers`` takes the seconds that are left. Raises :class:`EngineError` if the engine
        ends, does not answer in time, or if another process does.
        """
        while True:
            self._check_alive()
            left = timeout - (time.perf_counter() - self._born)
            if left <= 0:
                raise self.error(
                    f"The engine did not answer within {timeout:.0f} s.",
                    hint="Give it more time with --timeout, or look at its last lines.",
                )
            if answers(left):
                break
            time.sleep(_POLL)
        seconds = time.perf_counter() - self._born
        # Two engines on one port: the old one would be praised for the new one.
        self._check_alive()
        ours = processes.listeners(self.port, self._family()) if processes.visible() else None
        if ours is False:
            raise self.error(f"Another program answers on port {self.port}, not this engine.")
        return seconds

    def _check_alive(self) -> None:
        self._cancel.check()
        ended = self.ended()
        if ended is not None:
            raise self.error(f"{ended[:1].upper()}{ended[1:]} before it answered anything.")

    def ended(self, patience: float = 0) -> str | None:
        """How the engine ended, or ``None`` if it still runs after ``patience`` seconds."""
        try:
            status = self._running().wait(patience)
        except subprocess.TimeoutExpired:
            return None
        return f"the engine ended with {describe_status(status)}"

    def last_lines(self) -> str:
        """The end of what the engine has written."""
        if self._output is None:
            return ""
        if self._running().poll() is not None:
            self._output.finish()
        return self._output.last_lines()

    def error(self, message: str, *, hint: str | None = None) -> EngineError:
        """An error with the engine's last lines as its context."""
        lines = self.last_lines() or "(it has written nothing)"
        return EngineError(message, context={"last lines": lines}, hint=hint)

    def stop(self, timeout: float) -> Stopped:
        """Ask the program alone to end, and see whether everything else goes with it."""
        process = self._running()
        began = time.perf_counter()
        if sys.platform == "win32":
            # There is no polite way for a program without a window; the editor does the same.
            end_group(process, grace=0)
        else:
            process.terminate()
        status: int | None = None
        with suppress(subprocess.TimeoutExpired):
            status = process.wait(timeout)
        seconds = time.perf_counter() - began
        left = self._wait_for_followers() if status is not None else ()
        if left:
            self._kill()
        return Stopped(seconds, status, left, not _answers(self.port))

    def close(self) -> None:
        """End whatever is left, by force. Safe to call twice, and before the start."""
        if self._process is None:
            return
        with deferred_interrupts():
            if self._forget is not None:
                self._forget()
            self._kill()
            end_group(self._process, grace=0)
            if self._output is not None:
                self._output.finish()

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def _family(self) -> list[int]:
        return processes.family(self._running().pid, str(self._home))

    def _wait_for_followers(self) -> tuple[str, ...]:
        end = time.perf_counter() + _FOLLOW
        while (left := self._left()) and time.perf_counter() < end:
            time.sleep(_POLL)
        return left

    def _left(self) -> tuple[str, ...]:
        if processes.visible():
            return tuple(processes.name_of(pid) for pid in self._family())
        return ("a process of its group",) if _group_lives(self.group) else ()

    def _kill(self) -> None:
        process = self._running()
        if sys.platform == "win32":
            if process.poll() is None:
                end_group(process, grace=0)
            return
        # Also those that left the group; a child born meanwhile is found in the second round.
        for _ in range(2):
            for pid in self._family():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def describe_status(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


def _own_environment(home: Path) -> dict[str, str]:
    """Its own places for data, so that the user's dictionary and settings stay untouched."""
    places = {
        name: home / name.lower()
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR")
    }
    for place in places.values():
        place.mkdir(exist_ok=True)
    texts = {name: str(place) for name, place in places.items()}
    return {"HOME": str(home), "VV_OUTPUT_LOG_UTF8": "1", **texts}


def _free_port() -> int:
    """A port on which nobody listens; raises :class:`EngineError` if none is found."""
    for _ in range(10):
        with socket.socket() as probe:
            probe.bind((_HOST, 0))
            port: int = probe.getsockname()[1]
        if not _answers(port):
            return port
    raise EngineError("No free port was found on this machine.")


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((_HOST, port)) == 0


def _group_lives(group: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        # macOS says EPERM for a group whose members are all zombies.
        return False
    return True
