"""``vvbuild releases``."""

from __future__ import annotations

from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("releases")
def releases(ui: Ui) -> View:
    """List the releases, with their pins.

    Example: vvbuild releases
    """
    from vvbuild.manifest.release import find_release, release_names
    from vvbuild.report.views.listings import releases_view

    return releases_view([find_release(name) for name in release_names()])
