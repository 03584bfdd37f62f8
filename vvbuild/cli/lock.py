"""``vvbuild lock``."""

from __future__ import annotations

from typing import Annotated

import typer

from vvbuild.cli import options
from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("lock")
def lock(
    ui: Ui,
    release: options.Release = "sample",
    tools: Annotated[
        bool, typer.Option("--tools", help="Lock the tools of manifests/tools.toml instead.")
    ] = False,
) -> View:
    """Write a release's lock: the digest and size of every file.

    Example: vvbuild lock --release sample
    """
    from vvbuild.fetch.session import Session
    from vvbuild.locking.run import lock_release, lock_tools
    from vvbuild.manifest.release import find_release
    from vvbuild.report.views.lock import lock_view
    from vvbuild.runtime.cancel import Cancel

    cancel = Cancel()
    with Session(cancel=cancel) as session, ui.listener() as emit:
        if tools:
            return lock_view(lock_tools(session=session, emit=emit, cancel=cancel))
        loaded = find_release(release)
        return lock_view(lock_release(loaded, session=session, emit=emit, cancel=cancel))
