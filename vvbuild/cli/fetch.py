"""``vvbuild fetch``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vvbuild.cli import options
from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("fetch")
def fetch(
    ui: Ui,
    target: options.Target,
    release: options.Release = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="COMPONENT", help="Only this component. Repeatable."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Also lay the components out in this directory."),
    ] = None,
    fetcher: options.Fetch = "auto",
    accept_terms: options.AcceptTerms = None,
    allow_unlocked: options.AllowUnlocked = False,
    offline: options.Offline = False,
    jobs: options.Jobs = 2,
) -> View:
    """Bring what a bundle is made from into the store, verified, and build nothing.

    Core, ONNX Runtime, additional libraries and models come through the core's own downloader
    where the release has it; whoever brings them, the trees are the same.

    Example: vvbuild fetch --release sample --target win-x64-directml
    """
    from vvbuild.bundle.fetching import FetchOptions, fetch_target
    from vvbuild.bundle.terms import Acceptance
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.manifest.choose import choose_release
    from vvbuild.report.views.fetch import fetch_view
    from vvbuild.runtime.cancel import Cancel

    what = FetchOptions(
        choose_release(release, Path.cwd()),
        target,
        fetcher=fetcher,
        only=tuple(only or ()),
        offline=offline,
        jobs=jobs,
        allow_unlocked=allow_unlocked,
        accepts=Acceptance(tuple(accept_terms or ())),
    )
    store = Store(default_root())
    with ui.listener() as emit:
        result = fetch_target(what, store=store, emit=emit, cancel=Cancel(), out=out)
    return fetch_view(result)
