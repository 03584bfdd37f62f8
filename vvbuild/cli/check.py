"""``vvbuild check``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("check", judges=True)
def check(
    ui: Ui,
    release: Annotated[
        str | None,
        typer.Option(
            "--release",
            "-r",
            help="A release or a manifest's file; by default the checkout's vvbuild.toml or all.",
        ),
    ] = None,
    all: Annotated[  # noqa: A002 - an option's name is its parameter's
        bool, typer.Option("--all", help="All releases.")
    ] = False,
    target: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", help="Only this target; can be given again."),
    ] = None,
    set: Annotated[  # noqa: A002
        list[str] | None,
        typer.Option(
            "--set",
            metavar="COMPONENT=VERSION",
            help="What if that were pinned; for onnxruntime also FLAVOUR:VERSION. Repeatable.",
        ),
    ] = None,
    min_severity: Annotated[
        Literal["error", "warning", "info"],
        typer.Option(help="Leave out findings that weigh less."),
    ] = "info",
) -> View:
    """Say whether the pins of releases fit together, and why not.

    Example: vvbuild check --release 0.25.2 --set onnxruntime=1.23.2
    """
    from datetime import datetime, timezone
    from pathlib import Path

    from vvbuild.check.overrides import parse_override
    from vvbuild.check.run import check as run
    from vvbuild.errors import UsageError
    from vvbuild.manifest.choose import checkout_manifest, choose_release
    from vvbuild.manifest.release import find_release, release_names
    from vvbuild.manifest.targets import find_target
    from vvbuild.report.views.check import check_view

    if release is not None and all:
        raise UsageError("--release and --all exclude each other.")
    overrides = [parse_override(text) for text in set or ()]
    targets = tuple(dict.fromkeys(find_target(name) for name in target or ()))
    own = release is None and not all and checkout_manifest(Path.cwd()) is not None
    one = release is not None or own
    loaded = (
        [choose_release(release, Path.cwd()).release]
        if one
        else [find_release(name) for name in release_names()]
    )
    result = run(
        loaded,
        today=datetime.now(timezone.utc).date(),
        targets=targets,
        overrides=overrides,
        min_severity=min_severity,
    )
    return check_view(result, base=Path.cwd())
