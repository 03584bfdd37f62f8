"""A downloader that runs: its two streams, the question that it may ask, and its end."""

from __future__ import annotations

import contextlib
import errno
import queue
import re
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeAlias

from vvbuild.errors import HostToolMissingError, from_os_error
from vvbuild.fetch.downloader.request import Limits
from vvbuild.fetch.downloader.terms import Consent, plain
from vvbuild.model.downloader import DownloaderPrompt
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.process import end_group, start

_PIECE = 1 << 16
_QUEUED = 64
_TICK_SECONDS = 0.1
_MOST_TEXT = 4 << 20
_TAIL_LINES = 40
_LONGEST_LINE = 1 << 16
_SHOWN = 400
# One question is for everything; more of them are a program that asks in circles.
_MOST_ANSWERS = 8
_BUSY_SECONDS = 0.05
# Windows' words for a program of another system or processor.
_OTHER_MACHINE = (193, 216)
_Process: TypeAlias = "subprocess.Popen[bytes]"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended. ``refused`` is the text that was not accepted.

    ``status`` is negative for a signal, ``None`` if it was ended for taking too long.
    """

    status: int | None
    tail: str
    refused: str | None = None


@dataclass
class _Said:
    """What came on one stream: the unfinished line, and all since the last answer."""

    line: bytes = b""
    text: bytearray = field(default_factory=bytearray)


def converse(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    prompt: DownloaderPrompt | None,
    consent: Consent,
    limits: Limits,
    hide: Callable[[str], str],
    on_line: Callable[[str], None],
    on_tick: Callable[[], None],
    cancel: Cancel,
) -> Ending:
    """Run a downloader to its end in a group of its own, and answer what it asks.

    Its lines go to ``on_line``, without control sequences and without what ``hide`` takes out of
    them; ``on_tick`` is called some times a second. The whole group is gone when this returns or
    raises. Raises :class:`HostToolMissingError` for a program that cannot be started.
    """
    cancel.check()
    process = _start(command, cwd, environment, subprocess.PIPE if prompt else subprocess.DEVNULL)
    talk = _Talk(process, prompt, consent, limits, hide, on_line)
    forget = cancel.add(lambda: end_group(process, grace=0))
    try:
        talk.follow(on_tick, cancel)
    finally:
        forget()
        end_group(process, grace=0)
        talk.close()
    cancel.check()
    status = None if talk.late else process.returncode
    return Ending(status, talk.tail(), talk.refused)


def _start(
    command: Sequence[str | Path], cwd: Path, environment: Mapping[str, str], stdin: int
) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE

    def begin() -> subprocess.Popen[bytes]:
        return start(
            command, cwd=cwd, environment=environment, stdin=stdin, stdout=pipe, stderr=pipe
        )

    try:
        return _patiently(begin)
    except OSError as error:
        if error.errno == errno.ENOEXEC or getattr(error, "winerror", 0) in _OTHER_MACHINE:
            raise HostToolMissingError(
                f"{command[0]} is not a program that this machine can run.",
                hint="`--fetcher direct` fetches the same files without it.",
            ) from error
        raise from_os_error(error, f"start {command[0]}") from error


def _patiently(begin: Callable[[], subprocess.Popen[bytes]], tries: int = 20) -> _Process:
    """Start a program that was written a moment ago.

    A child that another thread forked meanwhile may still hold the file open for writing.
    """
    try:
        return begin()
    except OSError as error:
        if error.errno != errno.ETXTBSY or not tries:
            raise
    time.sleep(_BUSY_SECONDS)
    return _patiently(begin, tries - 1)


class _Talk:
    """The conversation with one process."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        prompt: DownloaderPrompt | None,
        consent: Consent,
        limits: Limits,
        hide: Callable[[str], str],
        on_line: Callable[[str], None],
    ) -> None:
        self._process = process
        self._prompt = prompt
        self._before = [re.compile(each) for each in prompt.before] if prompt else []
        self._consent = consent
        self._limits = limits
        self._hide = hide
        self._on_line = on_line
        self._lines: deque[str] = deque(maxlen=_TAIL_LINES)
        self._pieces: queue.Queue[tuple[str, bytes]] = queue.Queue(_QUEUED)
        self._said = {"stdout": _Said(), "stderr": _Said()}
        self._answers = 0
        self._heard = time.monotonic()
        self._deadline = self._heard + limits.seconds
        self._closed = threading.Event()
        self.late = False
        self.refused: str | None = None
        assert process.stdout is not None
        assert process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read, args=(name, stream), daemon=True)
            for name, stream in (("stdout", process.stdout), ("stderr", process.stderr))
        ]
        for reader in self._readers:
            reader.start()

    def follow(self, on_tick: Callable[[], None], cancel: Cancel) -> None:
        """Listen until both streams and the process have ended, or time is up."""
        silent = 0
        while silent < len(self._readers) or self._process.poll() is None:
            cancel.check()
            if time.monotonic() > self._deadline:
                self.late = True
                return
            try:
                name, piece = self._pieces.get(timeout=_TICK_SECONDS)
            except queue.Empty:
                on_tick()
                if self._process.poll() is not None and self._quiet > 1:
                    # It has ended; a child of its own keeps the streams open.
                    return
                self._answer()
                continue
            silent += not piece
            self._hear(name, piece)

    def close(self) -> None:
        """Let the readers end; the group is gone."""
        self._closed.set()
        if self._process.stdin is not None:
            _close(self._process.stdin)
        deadline = time.monotonic() + 5
        while any(reader.is_alive() for reader in self._readers) and time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                self._hear(*self._pieces.get(timeout=0.02))
        for name in self._said:
            self._end_line(name)

    def tail(self) -> str:
        """The last lines of both streams, in the order in which they came."""
        return "\n".join(self._lines)

    @property
    def _quiet(self) -> float:
        return time.monotonic() - self._heard

    def _read(self, name: str, stream: IO[bytes]) -> None:
        with stream:
            while True:
                # read1 gives what is there: a question ends without a line's end.
                piece = stream.read1(_PIECE)  # type: ignore[attr-defined]
                while not self._closed.is_set():
                    try:
                        self._pieces.put((name, piece), timeout=_TICK_SECONDS)
                        break
                    except queue.Full:
                        continue
                if not piece:
                    return

    def _hear(self, name: str, piece: bytes) -> None:
        if not piece:
            return
        self._heard = time.monotonic()
        said = self._said[name]
        said.text += piece
        del said.text[: max(0, len(said.text) - _MOST_TEXT)]
        *whole, said.line = (said.line + piece).split(b"\n")
        for line in whole:
            self._tell(line)
        if len(said.line) > _LONGEST_LINE:
            self._end_line(name)

    def _end_line(self, name: str) -> None:
        line, self._said[name].line = self._said[name].line, b""
        if line:
            self._tell(line)

    def _tell(self, line: bytes) -> None:
        # A progress bar draws over its line; its last state is what people would see.
        shown = line.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
        # Secrets go before anything is cut off: half of one would not be known again.
        text = plain(self._hide(shown)).rstrip()
        if len(text) > _SHOWN:
            text = f"{text[:_SHOWN]}…"
        if text:
            self._lines.append(text)
            self._on_line(text)

    # Terms

    def _answer(self) -> None:
        """Accept a text that is accepted; decline any other once it is surely a question."""
        prompt, text = self._prompt, bytes(self._said["stdout"].text)
        if prompt is None or not text or self._quiet < self._limits.settle:
            return
        # It asks once for everything, so what it writes later is no text, unless it says so.
        patient = self._answers == 0 and self._quiet > self._limits.patience
        asks = bool(self._said["stderr"].line) or patient
        if not asks or self._answers >= _MOST_ANSWERS or self.refused is not None:
            return
        shown = text.decode("utf-8", "replace")
        accepted = self._consent.covers(shown, self._before)
        if not accepted and self._quiet < min(self._limits.patience, 4 * self._limits.settle):
            # The rest of a text may still be on its way.
            return
        if not accepted:
            began = time.monotonic()
            accepted = self._consent.ask(plain(shown))
            # Reading takes as long as it takes.
            self._deadline += time.monotonic() - began
        if not accepted:
            self.refused = plain(self._hide(shown))
        self._say(prompt.yes if accepted else prompt.no)

    def _say(self, word: str) -> None:
        self._answers += 1
        self._said["stdout"].text.clear()
        self._end_line("stderr")
        self._heard = time.monotonic()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{word}\n".encode())
            self._process.stdin.flush()
        except OSError:
            # It has ended; its status tells the rest.
            return


def _close(stream: IO[bytes]) -> None:
    with contextlib.suppress(OSError):
        stream.close()
