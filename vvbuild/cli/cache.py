"""``vvbuild cache``."""

from __future__ import annotations

import typer

from vvbuild.cli.app import app, command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View

cache = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Care of the store, where everything fetched and built is kept.",
)
app.add_typer(cache, name="cache")


@command("info", group=cache, full_name="cache info")
def info(ui: Ui) -> View:
    """Say where the store lies and what fills it.

    Example: vvbuild cache info
    """
    from vvbuild.fetch.housekeeping import measure
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.report.views.store import usage_view

    return usage_view(measure(Store(default_root())))


@command("clean", group=cache, full_name="cache clean")
def clean(ui: Ui) -> View:
    """Delete everything in the store. A directory that is not a store is never touched.

    Example: vvbuild cache clean
    """
    from vvbuild.fetch.housekeeping import clean as clean_store
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.report.views.store import cleaned_view

    return cleaned_view(clean_store(Store(default_root())))
