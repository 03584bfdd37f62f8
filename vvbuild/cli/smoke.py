"""``vvbuild smoke``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View
from vvbuild.smoke.result import DEFAULT_TEXT


@command("smoke")
def smoke(
    ui: Ui,
    path: Annotated[
        Path, typer.Argument(help="A bundle's directory, a .vvpp, or the first of its parts.")
    ],
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds that the start may take.")
    ] = 60.0,
    text: Annotated[str, typer.Option("--text", help="What it says.")] = DEFAULT_TEXT,
    wav: Annotated[
        Path | None, typer.Option("--wav", help="Save what it said in this file.")
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep the temporary directory: what was unpacked, its log."),
    ] = False,
) -> View:
    """Start a bundle, have it speak, cancel, and stop; nothing is left running.

    Example: vvbuild smoke out/*.vvpp --wav hello.wav
    """
    from vvbuild.report.views.smoke import smoke_view
    from vvbuild.runtime.cancel import Cancel
    from vvbuild.smoke.result import SmokeOptions
    from vvbuild.smoke.run import smoke as run_smoke

    options = SmokeOptions(timeout=timeout, text=text, wav=wav, keep=keep)
    with ui.listener() as emit:
        result = run_smoke(path, options, emit=emit, cancel=Cancel())
    return smoke_view(result)
