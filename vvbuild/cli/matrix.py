"""``vvbuild matrix``."""

from __future__ import annotations

from typing import Annotated

import typer

from vvbuild.cli import options
from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("matrix")
def matrix(
    ui: Ui,
    release: options.Release = None,
    target: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", help="Only this target; can be given again."),
    ] = None,
) -> View:
    """Print the CI matrix of a release: one line for GitHub's `fromJSON`.

    In a job before: echo "matrix=$(vvbuild matrix)" >> "$GITHUB_OUTPUT"

    Example: vvbuild matrix --release 0.25.2 --target win-x64-cuda
    """
    from pathlib import Path

    from vvbuild.manifest.choose import choose_release
    from vvbuild.manifest.matrix import release_matrix
    from vvbuild.manifest.targets import find_target
    from vvbuild.report.views.matrix import matrix_view

    loaded = choose_release(release, Path.cwd()).release
    wanted = tuple(find_target(name) for name in target or ())
    return matrix_view(loaded.name, release_matrix(loaded, wanted))
