"""``vvbuild verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("verify", judges=True)
def verify(
    ui: Ui,
    path: Annotated[Path, typer.Argument(help="A bundle's directory, or a .vvpp.")],
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Instead of what the bundle says.")
    ] = None,
) -> View:
    """Judge the bytes of a bundle by the rules.

    Example: vvbuild verify out/*.vvpp
    """
    from vvbuild.manifest.targets import find_target
    from vvbuild.report.views.findings import verdict_view
    from vvbuild.runtime.cancel import Cancel
    from vvbuild.verify.run import verify_path

    wanted = find_target(target) if target else None
    return verdict_view(verify_path(path, target=wanted, cancel=Cancel()))
