"""``vvbuild inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vvbuild.cli import options
from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("inspect")
def inspect(
    ui: Ui,
    path: Annotated[
        Path,
        typer.Argument(help="A program or library, a bundle's directory, or an archive."),
    ],
    tree: Annotated[
        bool, typer.Option("--tree", help="Draw who needs whom, and where loaders find it.")
    ] = False,
    digests: Annotated[
        bool, typer.Option("--digests", help="Also the SHA-256 of every file.")
    ] = False,
    offline: options.Offline = False,
) -> View:
    """Show what the bytes of a file, a bundle or an archive say, without judging them.

    Format, processor, what is needed and where it is found, SONAME, RUNPATH, exports, versions,
    the oldest system, the GPUs. `--json` holds everything.

    Example: vvbuild inspect out/*.vvpp --tree
    """
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.inspect.look import inspect_path
    from vvbuild.report.views.inspect import inspection_view
    from vvbuild.runtime.cancel import Cancel
    from vvbuild.verify.seven_zip import finder

    cancel = Cancel()
    with ui.listener() as emit:
        seven_zip = finder(Store(default_root()), offline=offline, emit=emit, cancel=cancel)
        found = inspect_path(path, digests=digests, cancel=cancel, seven_zip=seven_zip)
    return inspection_view(found, tree=tree)
