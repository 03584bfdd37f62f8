"""The pinned 7-Zip as a reader: it writes nothing but its standard output."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, NoReturn

from vvbuild.errors import HostileArchiveError
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.process import clean_environment, end_group, start

_TAIL = 2000


class SevenZip:
    """7-Zip at work on one archive."""

    def __init__(self, program: Path, archive: Path, cancel: Cancel) -> None:
        self._program = program
        self._archive = archive.absolute()
        self._cancel = cancel
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: BinaryIO | IO[bytes] | None = None

    @contextmanager
    def run(self, *words: str, errors: IO[bytes]) -> Iterator[IO[bytes]]:
        """Start it with a command and switches; yields what it writes, and ends it afterwards.

        A password is given, so that it never asks for one.
        """
        command: list[str | Path] = [
            self._program, *words, "-y", "-bd", "-p-", "-sccUTF-8", "--", self._archive
        ]  # fmt: skip
        process = start(command, environment=clean_environment(), stderr=errors.fileno())
        self._process, self._errors = process, errors
        forget = self._cancel.add(lambda: end_group(process, grace=0))
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            forget()
            end_group(process, grace=0)
            process.stdout.close()

    def end(self) -> None:
        """End it, whatever it is doing."""
        assert self._process is not None
        end_group(self._process, grace=0)

    def finish(self, otherwise: str) -> None:
        """Wait for its end, which must be a good one. Raises :class:`HostileArchiveError`."""
        assert self._process is not None
        status = self._process.wait()
        self._cancel.check()
        if status:
            self.refuse(otherwise)

    def refuse(self, why: str) -> NoReturn:
        """Raise :class:`HostileArchiveError` with 7-Zip's last words."""
        self._cancel.check()
        words = self._last_words()
        if "ncrypted" in words or "Wrong password" in words:
            why = "is encrypted"
        raise HostileArchiveError(
            f"{self._archive.name} must not be unpacked: it {why}.",
            context={"archive": self._archive, "7-Zip says": words},
        )

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace")
        return "\n".join(line for line in text.splitlines() if line.strip())[-_TAIL:]
