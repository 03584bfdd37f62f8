"""Listeners to the core's events: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TextIO

from vvbuild.model.events import Event, Note, Progress, StepFinished, StepStarted
from vvbuild.model.size import ByteSize
from vvbuild.report.sanitize import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

# A line every ten seconds shows life in a log without filling it.
_PLAIN_INTERVAL = 10.0


class Listener(Protocol):
    """Hears events from any thread; used as a context manager around the work."""

    def __enter__(self) -> Listener: ...
    def __exit__(self, *details: object) -> None: ...
    def __call__(self, event: Event) -> None:
        """Hear one event."""


class Quiet:
    """Shows nothing."""

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *details: object) -> None:
        return None

    def __call__(self, event: Event) -> None:
        """Ignore an event."""


def amount(event: Progress) -> str:
    """``12.0 MiB of 16.6 MiB`` or ``3 of 8 files``."""
    if event.unit == "bytes":
        done = str(ByteSize(event.done))
        return done if event.total is None else f"{done} of {ByteSize(event.total)}"
    total = "" if event.total is None else f" of {event.total}"
    return f"{event.done}{total} {event.unit}"


class PlainLines:
    """One line an event, with the time since the start."""

    def __init__(self, stream: TextIO | None = None, *, verbose: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._verbose = verbose
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._last: dict[str, float] = {}

    def __enter__(self) -> PlainLines:
        return self

    def __exit__(self, *details: object) -> None:
        return None

    def __call__(self, event: Event) -> None:
        """Write the event's line, if it is worth one."""
        text = self._text(event)
        if text is not None:
            elapsed = time.monotonic() - self._start
            self._write(f"[{elapsed:6.1f}s] {clean(text)}")

    def _write(self, line: str) -> None:
        with self._lock, suppress(BrokenPipeError):
            # Nobody reads any more: the work goes on, as it would without a listener.
            self._stream.write(f"{self._before()}{line}\n")
            self._stream.flush()

    def _before(self) -> str:
        """What stands before a line; nobody else writes meanwhile."""
        return ""

    def _text(self, event: Event) -> str | None:
        if isinstance(event, StepStarted):
            return f"{event.step} …"
        if isinstance(event, StepFinished):
            if event.cached:
                return f"{event.step}: already done" if self._verbose else None
            return f"{event.step}: done in {event.seconds:.1f} s"
        if isinstance(event, Progress):
            now = time.monotonic()
            last = self._last.setdefault(event.task, now)
            if now - last < _PLAIN_INTERVAL:
                return None
            self._last[event.task] = now
            return f"{event.task}: {amount(event)}"
        return event.text if event.level != "debug" or self._verbose else None


class GitHubLines(PlainLines):
    """Plain lines folded away in the log of a job; warnings are annotations as well."""

    def __init__(
        self, command: str, stream: TextIO | None = None, *, verbose: bool = False
    ) -> None:
        super().__init__(stream, verbose=verbose)
        self._command = command
        self._open = False

    def __enter__(self) -> GitHubLines:
        return self

    def __exit__(self, *details: object) -> None:
        if self._open:
            self._write("::endgroup::")

    def _before(self) -> str:
        if self._open:
            return ""
        self._open = True
        return f"::group::vvbuild {clean(self._command)}\n"

    def __call__(self, event: Event) -> None:
        """Write the event's line, and what is worth a reader's eye at the top of the job."""
        if isinstance(event, Note) and event.level == "warning":
            from vvbuild.report.github import workflow_command

            self._write(workflow_command("warning", event.text, title="vvbuild"))
        else:
            super().__call__(event)


class Bars:
    """Live bars of the running steps and transfers; finished steps scroll above them."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._console = console
        self._verbose = verbose
        self._lock = threading.Lock()
        self._tasks: dict[str, TaskID] = {}
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[amount]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Move, add or remove a bar."""
        with self._lock:
            if isinstance(event, StepStarted):
                self._task(event.step)
            elif isinstance(event, StepFinished):
                self._finish(event)
            elif isinstance(event, Progress):
                self._move(event)
            elif event.level != "debug" or self._verbose:
                self._say(clean(event.text))

    def _task(self, name: str) -> TaskID:
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(_short(clean(name)), total=None, amount="")
        return self._tasks[name]

    def _move(self, event: Progress) -> None:
        task = self._task(event.task)
        self._progress.update(task, completed=event.done, total=event.total, amount=amount(event))
        if event.total is not None and event.done >= event.total:
            self._drop(event.task)

    def _finish(self, event: StepFinished) -> None:
        self._drop(event.step)
        if not event.cached:
            self._say(f"  ✓ {clean(event.step)}  {event.seconds:.1f} s")
        elif self._verbose:
            self._say(f"  · {clean(event.step)}  already done")

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False)

    def _drop(self, name: str) -> None:
        task = self._tasks.pop(name, None)
        if task is not None:
            self._progress.remove_task(task)


def _short(text: str) -> str:
    return text if len(text) <= 32 else f"{text[:31]}…"
