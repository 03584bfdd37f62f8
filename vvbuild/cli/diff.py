"""``vvbuild diff``."""

from __future__ import annotations

from typing import Annotated

import typer

from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("diff")
def diff(
    ui: Ui,
    before: Annotated[
        str, typer.Argument(metavar="A", help="A release, or the file of its manifest.")
    ],
    after: Annotated[str, typer.Argument(metavar="B", help="The one that it is compared with.")],
) -> View:
    """Say what differs from one release to another: pins, targets, files, findings.

    Example: vvbuild diff 0.25.1 0.25.2
    """
    from datetime import datetime, timezone
    from pathlib import Path

    from vvbuild.compare.run import compare
    from vvbuild.compare.sides import find_side
    from vvbuild.report.views.diff import diff_view

    here = Path.cwd()
    today = datetime.now(timezone.utc).date()
    return diff_view(compare(find_side(before, here), find_side(after, here), today=today))
