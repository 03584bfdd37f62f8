"""``vvbuild explain``."""

from __future__ import annotations

from typing import Annotated

import typer

from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("explain")
def explain(
    ui: Ui,
    name: Annotated[
        str | None, typer.Argument(help="A rule, an error code or a component; none lists all.")
    ] = None,
    version: Annotated[
        str | None,
        typer.Argument(help="A version of the component; for onnxruntime also FLAVOUR:VERSION."),
    ] = None,
) -> View:
    """Explain a rule, an error code, or a version of a component: what it needs, what needs it.

    Example: vvbuild explain onnxruntime 1.17.3
    """
    from datetime import datetime, timezone
    from pathlib import Path

    from vvbuild.explain.run import explain as run
    from vvbuild.explain.run import topics
    from vvbuild.manifest.release import release_names
    from vvbuild.report.views.explain import explain_view, topics_view

    if name is None:
        return topics_view(topics())
    words = [name] if version is None else [name, version]
    today = datetime.now(timezone.utc).date()
    return explain_view(run(words, today), release_names(), base=Path.cwd())
