"""``vvbuild cache``."""

from __future__ import annotations

from typing import Annotated

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

DEFAULT_AGE = "30d"


@command("info", group=cache, full_name="cache info")
def info(ui: Ui) -> View:
    """Say where the store lies, what fills it, and who works with it.

    Example: vvbuild cache info
    """
    from vvbuild.fetch.housekeeping import measure
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.report.views.store import usage_view

    return usage_view(measure(Store(default_root())))


@command("verify", group=cache, full_name="cache verify")
def verify(
    ui: Ui,
    fix: Annotated[
        bool, typer.Option("--fix", help="Remove what is broken; it is fetched or made again.")
    ] = False,
) -> View:
    """Read every file of the store, and compare everything in it with its name.

    Also finds lists that name missing files, and laid-out trees that were changed or that hold
    strangers. Without --fix nothing is written, and the exit status is 1 if anything is broken.

    Example: vvbuild cache verify --fix
    """
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.fetch.store.verify import verify_store
    from vvbuild.report.views.store import verified_view

    with ui.listener() as emit:
        return verified_view(verify_store(Store(default_root()), fix=fix, emit=emit))


@command("prune", group=cache, full_name="cache prune")
def prune(
    ui: Ui,
    older_than: Annotated[
        str | None,
        typer.Option(
            metavar="AGE",
            help="Delete what was not used for so long: 12h, 7d, 2w. "
            f"{DEFAULT_AGE} if neither this nor --max-size is given.",
        ),
    ] = None,
    max_size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Delete what was used least lately until the store is so small: 20GB, 20GiB.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be deleted.")
    ] = False,
) -> View:
    """Delete what was not used for long, or least lately; never while another vvbuild works.

    Example: vvbuild cache prune --older-than 30d --max-size 20GB
    """
    from vvbuild.errors import UsageError
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.fetch.store.prune import parse_size
    from vvbuild.fetch.store.prune import prune as prune_store
    from vvbuild.model.policy import parse_age
    from vvbuild.report.views.store import pruned_view

    if older_than is None and max_size is None:
        older_than = DEFAULT_AGE
    try:
        age = None if older_than is None else parse_age(older_than)
        size = None if max_size is None else parse_size(max_size)
    except ValueError as error:
        option = "--older-than" if "an age" in str(error) else "--max-size"
        raise UsageError(f"{option}: {error}.") from None
    store = Store(default_root())
    return pruned_view(prune_store(store, older_than=age, max_size=size, dry_run=dry_run))


@command("clean", group=cache, full_name="cache clean")
def clean(ui: Ui) -> View:
    """Delete everything in the store. A directory that is not a store is never touched.

    Example: vvbuild cache clean
    """
    from vvbuild.fetch.housekeeping import clean as clean_store
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.report.views.store import cleaned_view

    return cleaned_view(clean_store(Store(default_root())))
