"""The program's entry point."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from vvbuild.cli import (  # noqa: F401 - each registers its commands
    bundle,
    cache,
    doctor,
    lock,
    plan,
    releases,
    targets,
    verify,
)
from vvbuild.cli.app import app
from vvbuild.cli.ui import Ui
from vvbuild.errors import UsageError


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
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = app(words, prog_name="vvbuild", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except BrokenPipeError:
        # The reader of our output has gone (`vvbuild releases | head`): nothing to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        return _show_usage_error(words, str(message()))


def _show_usage_error(words: Sequence[str], message: str) -> int:
    """Typer's own complaints, in our form. Without words it has shown the help instead."""
    if not words:
        return int(UsageError.exit_status)
    names = [word for word in words if not word.startswith("-")]
    name = names[0] if names else ""
    ui = Ui(name, how="json" if "--json" in words else "auto")
    hint = f"`vvbuild {name} --help` shows what it takes." if name in _names() else _ALL
    return ui.show_error(UsageError(message, hint=hint))


_ALL = "`vvbuild --help` lists the commands."


def _names() -> set[str | None]:
    return {each.name for each in app.registered_commands} | {
        each.name for each in app.registered_groups
    }
