"""``vvbuild bundle``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vvbuild.cli import options
from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("bundle", judges=True)
def bundle(
    ui: Ui,
    target: options.Target,
    release: options.Release = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the archives go.")] = Path("out"),
    archive: options.Archive = None,
    python: options.Python = None,
    offline: options.Offline = False,
    jobs: options.Jobs = 2,
    fetcher: options.Fetch = "auto",
    accept_terms: options.AcceptTerms = None,
    allow_unlocked: options.AllowUnlocked = False,
) -> View:
    """Build a bundle and its archives, from pins to SHA256SUMS.

    Fetches, builds the bootloader, freezes, assembles, verifies, packs. What was done before is
    not done again.

    Example: vvbuild bundle --target linux-x64-cpu
    """
    from vvbuild.bundle.options import parse_kinds
    from vvbuild.bundle.run import BundleOptions, make_bundle
    from vvbuild.bundle.terms import Acceptance
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.manifest.choose import choose_release
    from vvbuild.report.views.bundle import bundle_view
    from vvbuild.runtime.cancel import Cancel

    what = BundleOptions(
        choose_release(release, Path.cwd()),
        target,
        python=python,
        kinds=parse_kinds(archive),
        offline=offline,
        jobs=jobs,
        allow_unlocked=allow_unlocked,
        fetcher=fetcher,
        accepts=Acceptance(tuple(accept_terms or ())),
    )
    with ui.listener() as emit:
        result = make_bundle(what, out, store=Store(default_root()), emit=emit, cancel=Cancel())
    return bundle_view(result)
