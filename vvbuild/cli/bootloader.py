"""``vvbuild bootloader``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vvbuild.cli import options
from vvbuild.cli.app import app, command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View

bootloader = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The program that starts a frozen engine: build it, prove it, see what it changes.",
)
app.add_typer(bootloader, name="bootloader")

Out = Annotated[Path, typer.Option("--out", "-o", help="Where the programs go.")]


@command("build", group=bootloader, full_name="bootloader build")
def build(
    ui: Ui,
    target: options.Target,
    release: options.Release = None,
    pyinstaller: Annotated[
        str | None,
        typer.Option("--pyinstaller", help="Another version than the release's."),
    ] = None,
    variant: Annotated[
        str, typer.Option("--variant", help="console, windowed, or all.")
    ] = "console",
    debug: Annotated[
        bool, typer.Option("--debug", help="The one that tells what it does; with all: both.")
    ] = False,
    cc: Annotated[
        str,
        typer.Option("--cc", help="zig (pinned), gcc, clang, mingw, msvc, or a compiler's path."),
    ] = "zig",
    out: Out = Path("bootloader"),
    offline: options.Offline = False,
) -> View:
    """Build PyInstaller's bootloader with the C files of bootloader_extra.

    With the release's own PyInstaller and zig these are the bytes that `bundle` freezes with.

    Example: vvbuild bootloader build --target win-x64-directml --pyinstaller 6.17.0
    """
    from vvbuild.bootloader.run import BootloaderOptions, make_bootloader
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.manifest.choose import choose_release
    from vvbuild.report.views.bootloader import built_view
    from vvbuild.runtime.cancel import Cancel

    what = BootloaderOptions(
        choose_release(release, Path.cwd()).release,
        target,
        pyinstaller=pyinstaller,
        variant=variant,
        debug=debug,
        cc=cc,
        offline=offline,
    )
    with ui.listener() as emit:
        result = make_bootloader(what, out, store=Store(default_root()), emit=emit, cancel=Cancel())
    return built_view(result)


@command("verify", group=bootloader, full_name="bootloader verify", judges=True)
def verify(
    ui: Ui,
    file: Annotated[Path, typer.Argument(help="A program: a bootloader, or what was frozen.")],
    pyinstaller: Annotated[
        str | None,
        typer.Option("--pyinstaller", help="The version that froze it, if no vvbuild.json tells."),
    ] = None,
) -> View:
    """Show what a program exports, and what graphics drivers will make of it.

    Example: vvbuild bootloader verify bundle/run.exe
    """
    from vvbuild.bootloader.verify import verify_bootloader
    from vvbuild.report.views.bootloader import proof_view

    return proof_view(verify_bootloader(file, pyinstaller=pyinstaller))


@command("probe", group=bootloader, full_name="bootloader probe")
def probe(
    ui: Ui,
    target: options.Target = "win-x64-directml",
    release: options.Release = None,
    out: Out = Path("probe"),
    offline: options.Offline = False,
) -> View:
    """List a PC's GPUs as programs with and without the hints see them.

    Builds two small programs, and on Windows runs both. Elsewhere carry them to the PC: each
    lists the GPUs in the order in which DirectML counts them.

    Example: vvbuild bootloader probe
    """
    from vvbuild.bootloader.probe import probe_adapters
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.manifest.choose import choose_release
    from vvbuild.report.views.bootloader import probe_view
    from vvbuild.runtime.cancel import Cancel

    loaded = choose_release(release, Path.cwd()).release
    with ui.listener() as emit:
        result = probe_adapters(
            loaded,
            target,
            out,
            store=Store(default_root()),
            offline=offline,
            emit=emit,
            cancel=Cancel(),
        )
    return probe_view(result)
