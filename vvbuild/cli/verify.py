"""``vvbuild verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("verify", judges=True)
def verify(
    ui: Ui,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="A bundle's directory, a .vvpp, a .7z.001, a .tar.zst; of parts any one. "
            "Several are held against each other, too.",
        ),
    ],
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Instead of what the bundle says.")
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            "--expect",
            metavar="COMPONENT=VERSION",
            help="What the bytes must say, such as engine=0.25.2. Repeatable.",
        ),
    ] = None,
    release: Annotated[
        str | None,
        typer.Option(
            "--release",
            "-r",
            help="A release whose waivers count beside those that the bundle records.",
        ),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not fetch 7-Zip, where an archive needs it.")
    ] = False,
) -> View:
    """Judge the bytes of bundles by the rules.

    Example: vvbuild verify out/*.vvpp --expect engine=0.25.2
    """
    from datetime import datetime, timezone

    from vvbuild.fetch.store import Store, default_root
    from vvbuild.manifest.choose import choose_release
    from vvbuild.manifest.targets import find_target
    from vvbuild.report.views.findings import verdicts_view
    from vvbuild.runtime.cancel import Cancel
    from vvbuild.verify.expected import parse_expected
    from vvbuild.verify.run import Question, verify_paths
    from vvbuild.verify.seven_zip import finder

    cancel = Cancel()
    question = Question(
        today=datetime.now(timezone.utc).date(),
        target=find_target(target) if target else None,
        expected=parse_expected(expect or ()),
        release=choose_release(release, Path.cwd()).release.row if release else None,
    )
    with ui.listener() as emit:
        seven_zip = finder(Store(default_root()), offline=offline, emit=emit, cancel=cancel)
        verdicts = verify_paths(paths, question, cancel=cancel, seven_zip=seven_zip)
    return verdicts_view(verdicts)
