"""The program's entry point."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, cast, get_args

import typer

from vvbuild.cli import (  # noqa: F401 - each registers its commands
    bootloader,
    bundle,
    cache,
    check,
    diff,
    doctor,
    explain,
    fetch,
    inspect,
    lock,
    matrix,
    mirror,
    outdated,
    plan,
    releases,
    smoke,
    targets,
    verify,
)
from vvbuild.cli.app import app
from vvbuild.cli.ui import Format, Ui, silence
from vvbuild.errors import CancelledError, UsageError


def _print_version(wanted: bool) -> None:
    if wanted:
        from vvbuild import __version__

        typer.echo(f"vvbuild {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Build and release VOICEVOX ENGINE bundles from verified, pinned parts."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status and lets no traceback through."""
    words = _with_values(sys.argv[1:] if arguments is None else arguments)
    _write_anything()
    try:
        status = app(words, prog_name="vvbuild", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except BrokenPipeError:
        # The reader of our help has gone: nothing to tell.
        silence(sys.stdout)
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return _ui(words).show_error(CancelledError("Interrupted."))
    except Exception as error:
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            # The help of a group, called without a command.
            sys.stderr.write(f"{message()}\n")
            return int(UsageError.exit_status)
        return _show_usage_error(words, str(message()))


def _with_values(arguments: Sequence[str]) -> list[str]:
    """The words, with its value where `--accept-terms` stands without one.

    Typer has no options whose value may be left out.
    """
    words = list(arguments)
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        if word == "--accept-terms" and not re.fullmatch(r"[0-9a-fA-F]{64}", following):
            words[index] = "--accept-terms=locked"
    return words


def _write_anything() -> None:
    """Let no name fail to be shown where the terminal's encoding lacks a character."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _ui(words: Sequence[str]) -> Ui:
    """How to show what happens outside of any command."""
    name = next((word for word in words if not word.startswith("-")), "")
    return Ui(name, how=_asked(words))


def _asked(words: Sequence[str]) -> Format:
    """The format that a line asks for which nobody could read as a whole."""
    if "--json" in words:
        return "json"
    spelled = " ".join(words).replace("=", " ").split()
    for option, value in pairwise(spelled):
        if option == "--format" and value in get_args(Format):
            return cast(Format, value)
    return "auto"


def _show_usage_error(words: Sequence[str], message: str) -> int:
    """Typer's own complaints, in our form."""
    ui = _ui(words)
    name = ui.command
    hint = f"`vvbuild {name} --help` shows what it takes." if name in _names() else _ALL
    return ui.show_error(UsageError(message, hint=hint))


_ALL = "`vvbuild --help` lists the commands."


def _names() -> set[str | None]:
    return {each.name for each in app.registered_commands} | {
        each.name for each in app.registered_groups
    }
