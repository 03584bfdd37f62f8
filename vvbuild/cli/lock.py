"""``vvbuild lock``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vvbuild.cli import options
from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View

if TYPE_CHECKING:
    from vvbuild.locking.subject import Subject


@command("lock")
def lock(
    ui: Ui,
    release: options.Release = None,
    tools: Annotated[
        bool, typer.Option("--tools", help="Lock the tools of manifests/tools.toml instead.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail on gaps and on changed files.")
    ] = False,
    all: Annotated[  # noqa: A002 - an option's name is its parameter's
        bool, typer.Option("--all", help="With --check: the locks of all releases.")
    ] = False,
    download: Annotated[
        bool,
        typer.Option(
            "--download",
            help="Read every file, compare it with what is told of it, and list what the archives "
            "hold that the core's downloader unpacks.",
        ),
    ] = False,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going", "-k", help="Lock what can be; the rest stays `unlocked`, status 4."
        ),
    ] = False,
    accept_drift: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Take what the server has now for that artifact, or glob of them. Repeatable.",
        ),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask nobody; with --check: look for gaps only.")
    ] = False,
) -> View:
    """Write a release's lock: the digest and size of every file.

    What is locked already, for a pin that did not change, stays and is not asked for again.
    Digests and sizes come from GitHub's API and the configured indexes; a file of which nobody
    tells them is downloaded and hashed. Texts that must be accepted are written beside the lock.
    GITHUB_TOKEN, if it is set, raises the API's limit. If anything cannot be learned, or a server
    has other bytes or terms now than those that are locked, nothing is written. With --check
    everything is asked again.

    Example: vvbuild lock --release 0.25.2 --check
    """
    from vvbuild.errors import UsageError
    from vvbuild.fetch.session import Session
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.locking.check import check_locks
    from vvbuild.locking.means import Means
    from vvbuild.locking.run import Wish
    from vvbuild.locking.run import lock as run
    from vvbuild.report.views.lock import lock_check_view, lock_view
    from vvbuild.runtime.cancel import Cancel

    if all and not check:
        raise UsageError("--all goes with --check; locks are written one by one.")
    if check and (keep_going or accept_drift):
        raise UsageError("--check writes nothing: --keep-going and --accept-drift are for writing.")
    subjects = _subjects(release, tools=tools, all_releases=all)
    cancel = Cancel()
    store = Store(default_root())
    if download:
        # Archives are looked into on its disk; what a killed process leaves there is swept.
        store.prepare()
    with Session(cancel=cancel, offline=offline) as session, ui.listener() as emit:
        means = Means(session, emit, cancel, scratch=store.scratch)
        if check:
            checks = check_locks(subjects, means, ask=not offline, download=download)
            return lock_check_view(checks)
        wish = Wish(download, keep_going, tuple(accept_drift or ()))
        return lock_view(run(subjects[0], means, wish))


def _subjects(release: str | None, *, tools: bool, all_releases: bool) -> list[Subject]:
    from pathlib import Path

    from vvbuild.errors import UsageError
    from vvbuild.locking.subject import release_subject, tools_subject
    from vvbuild.manifest.choose import choose_release
    from vvbuild.manifest.release import find_release, release_names

    if sum((release is not None, tools, all_releases)) > 1:
        raise UsageError("--release, --tools and --all exclude each other.")
    if tools:
        return [tools_subject()]
    if all_releases:
        return [release_subject(find_release(name)) for name in release_names()]
    return [release_subject(choose_release(release, Path.cwd()).release)]
