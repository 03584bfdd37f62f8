"""``vvbuild outdated``."""

from __future__ import annotations

from typing import Annotated

import typer

from vvbuild.cli import options
from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("outdated", judges=True)
def outdated(
    ui: Ui,
    release: options.Release = None,
    component: Annotated[
        list[str] | None,
        typer.Option("--component", "-c", help="Only this component; can be given again."),
    ] = None,
    min_age: Annotated[
        str | None,
        typer.Option(
            metavar="AGE",
            help="Propose nothing younger, such as 12h, 7d or 2w; by default the policy's.",
        ),
    ] = None,
    prereleases: Annotated[
        bool, typer.Option("--prereleases", help="Propose pre-releases too.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Edit the release's own file; else it is a diff.")
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no server; every component stays unanswered.")
    ] = False,
) -> View:
    """Propose newer pins for a release, by the policy in manifests/policy.toml.

    It shows the edit, what must move together with it, and what `vvbuild check` would find then.
    The exit status is 0 also where something is outdated, and 3 if not one source answered.

    Example: vvbuild outdated --release 0.25.2 --component core --min-age 2w
    """
    from datetime import datetime, timezone
    from pathlib import Path

    from vvbuild.errors import UsageError
    from vvbuild.fetch.session import Session
    from vvbuild.manifest.choose import choose_release
    from vvbuild.manifest.policy import update_policy
    from vvbuild.model.policy import parse_age
    from vvbuild.outdated.run import outdated as run
    from vvbuild.report.views.outdated import outdated_view
    from vvbuild.runtime.cancel import Cancel

    try:
        age = None if min_age is None else parse_age(min_age)
    except ValueError as error:
        raise UsageError(f"--min-age: {error}.") from None
    loaded = choose_release(release, Path.cwd()).release
    policy, cancel = update_policy(), Cancel()
    with Session(cancel=cancel, offline=offline) as session, ui.listener() as emit:
        result = run(
            loaded,
            policy=policy,
            session=session,
            now=datetime.now(timezone.utc),
            emit=emit,
            cancel=cancel,
            components=component or (),
            min_age=age,
            prereleases=prereleases,
            write=write,
        )
    return outdated_view(result, base=Path.cwd())
