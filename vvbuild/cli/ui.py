"""What every command shares: how it shows its result, its progress and its failures."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Literal, TextIO

from vvbuild.errors import VvbuildError
from vvbuild.report.document import Block, View
from vvbuild.report.errors import error_blocks
from vvbuild.report.progress import Bars, GitHubLines, Listener, PlainLines, Quiet

if TYPE_CHECKING:
    from rich.console import Console

Format = Literal["auto", "rich", "plain", "json", "github", "sarif"]
SCHEMA = "vvbuild.output/1"


class Ui:
    """One run of a command, as the user wants to see it."""

    def __init__(
        self,
        command: str,
        *,
        how: Format = "auto",
        quiet: bool = False,
        verbose: bool = False,
        color: bool = True,
    ) -> None:
        self.command = command
        self._quiet = quiet
        self._verbose = verbose
        self._color = color and "NO_COLOR" not in os.environ
        self._format = how

    @property
    def format(self) -> Format:
        """How results are shown; ``auto`` is rich on a terminal, GitHub's on its Actions."""
        if self._format != "auto":
            return self._format
        if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
            return "rich"
        return "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "plain"

    def listener(self) -> Listener:
        """Who hears the events of the work. Progress goes to standard error."""
        if self._quiet:
            return Quiet()
        if sys.stderr.isatty() and self.format != "plain" and os.environ.get("TERM") != "dumb":
            return Bars(self._console(stderr=True), verbose=self._verbose)
        if self.format == "github":
            return GitHubLines(self.command, verbose=self._verbose)
        return PlainLines(verbose=self._verbose)

    def show(self, view: View) -> int:
        """Show a result; returns the exit status."""
        if self.format == "json":
            head = {"schema": SCHEMA, "command": self.command, "ok": view.status == 0}
            self._write_json(head | view.data)
        elif self.format == "sarif":
            from vvbuild.report.sarif import sarif

            self._write_json(sarif(view.findings))
        elif not self._quiet or view.status:
            self._show_blocks(view.blocks)
            if self.format == "github":
                self._tell_github(view)
        return view.status

    def _tell_github(self, view: View) -> None:
        from vvbuild.report.github import annotation_lines, summary, write_summary

        _write(sys.stdout, "".join(f"{line}\n" for line in annotation_lines(view)))
        failure = write_summary(summary(self.command, view))
        if failure is not None:
            _write(sys.stderr, f"The job's summary was not written: {failure}.\n")

    def show_error(self, error: VvbuildError) -> int:
        """Show a failure; returns the exit status."""
        status = int(error.exit_status)
        if self.format == "json":
            body: dict[str, object] = {
                "code": error.code,
                "exit": status,
                "message": error.message,
                "context": error.context,
                "hint": error.hint,
            }
            self._write_json(
                {"schema": SCHEMA, "command": self.command, "ok": False, "error": body}
            )
        elif self.format == "sarif":
            from vvbuild.report.sarif import sarif_error

            self._write_json(sarif_error(error))
            self._show_blocks(error_blocks(error), stderr=True)
        else:
            self._show_blocks(error_blocks(error), stderr=True)
        if self.format == "github":
            from vvbuild.report.github import error_annotation

            # The runner reads both streams, and standard output may be on its way to a file.
            _write(sys.stderr, error_annotation(error) + "\n")
        return status

    def _show_blocks(self, blocks: tuple[Block, ...], *, stderr: bool = False) -> None:
        stream = sys.stderr if stderr else sys.stdout
        if self.format == "rich" and stream.isatty():
            from vvbuild.report.terminal import show

            show(blocks, self._console(stderr=stderr))
        else:
            from vvbuild.report.plain import render

            _write(stream, render(blocks, _width(stream.isatty())))

    def _console(self, *, stderr: bool) -> Console:
        from rich.console import Console

        return Console(stderr=stderr, no_color=not self._color, highlight=False, soft_wrap=False)

    @staticmethod
    def _write_json(document: dict[str, object]) -> None:
        _write(sys.stdout, json.dumps(document, ensure_ascii=True, default=str) + "\n")


def _write(stream: TextIO, text: str) -> None:
    """Write what a reader may not wait for (`… | head`); the exit status says the truth anyway."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        silence(stream)


def silence(stream: TextIO) -> None:
    """Send a stream whose reader has gone to nowhere, so that closing it does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _width(terminal: bool) -> int:
    import shutil

    # A pipe has no width; tables there may be as wide as they are.
    return shutil.get_terminal_size((80, 24)).columns if terminal else 160
