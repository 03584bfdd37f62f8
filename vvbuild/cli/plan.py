"""``vvbuild plan``."""

from __future__ import annotations

from vvbuild.cli import options
from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("plan")
def plan(
    ui: Ui,
    target: options.Target,
    release: options.Release = None,
    archive: options.Archive = None,
    python: options.Python = None,
    fetcher: options.Fetch = "auto",
    accept_terms: options.AcceptTerms = None,
    allow_unlocked: options.AllowUnlocked = False,
) -> View:
    """Say what `bundle` would do, and what it costs; run nothing.

    Example: vvbuild plan --target linux-x64-cpu
    """
    from pathlib import Path

    from vvbuild.bundle.options import parse_kinds
    from vvbuild.bundle.run import BundleOptions, plan_only
    from vvbuild.bundle.terms import Acceptance
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.manifest.choose import choose_release
    from vvbuild.report.views.bundle import plan_view

    what = BundleOptions(
        choose_release(release, Path.cwd()),
        target,
        python=python,
        kinds=parse_kinds(archive),
        allow_unlocked=allow_unlocked,
        fetcher=fetcher,
        accepts=Acceptance(tuple(accept_terms or ())),
    )
    with ui.listener() as emit:
        return plan_view(plan_only(what, store=Store(default_root()), emit=emit))
