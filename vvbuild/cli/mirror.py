"""``vvbuild mirror``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vvbuild.cli import options
from vvbuild.cli.app import app, command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View

mirror = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Carry what bundles are made from to a machine without a network.",
)
app.add_typer(mirror, name="mirror")

Directory = Annotated[Path, typer.Argument(help="The mirror.")]


@command("export", group=mirror, full_name="mirror export")
def export(
    ui: Ui,
    directory: Directory,
    release: options.Release = None,
    target: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", help="Only for this target. Repeatable; by default all."),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(
            "--host",
            help="For building on such a machine (linux-x64 …). Repeatable; by default this one.",
        ),
    ] = None,
    offline: options.Offline = False,
) -> View:
    """Put everything that bundles of a release are made from into a directory.

    The artifacts, the tools and the engine's Python packages, and the manifests. Several
    releases can be in one mirror. Each file lies under its SHA-256.

    Example: vvbuild mirror export /media/usb/mirror --release sample --target linux-x64-cpu
    """
    from vvbuild.errors import UsageError
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.manifest.choose import choose_release
    from vvbuild.mirror.carry import export_release
    from vvbuild.model.target import Platform
    from vvbuild.report.views.mirror import mirror_view
    from vvbuild.runtime.cancel import Cancel

    loaded = choose_release(release, Path.cwd()).release
    wanted = tuple(dict.fromkeys(map(loaded.target, target or loaded.row.targets)))
    try:
        hosts = tuple(dict.fromkeys(map(Platform.parse, host or ())))
    except ValueError as error:
        raise UsageError(f"--host: {error}.") from None
    store = Store(default_root())
    with ui.listener() as emit:
        carried = export_release(
            loaded,
            wanted,
            directory,
            store=store,
            offline=offline,
            emit=emit,
            cancel=Cancel(),
            hosts=hosts,
        )
    return mirror_view(carried, "in the mirror")


@command("import", group=mirror, full_name="mirror import")
def import_(ui: Ui, directory: Directory) -> View:
    """Take every file of a mirror into the store, each verified again.

    Example: vvbuild mirror import /media/usb/mirror
    """
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.mirror.carry import import_mirror
    from vvbuild.report.views.mirror import mirror_view
    from vvbuild.runtime.cancel import Cancel

    store = Store(default_root())
    with ui.listener() as emit:
        carried = import_mirror(directory, store=store, emit=emit, cancel=Cancel())
    return mirror_view(carried, "in the store")
