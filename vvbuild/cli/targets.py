"""``vvbuild targets``."""

from __future__ import annotations

from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("targets")
def targets(ui: Ui) -> View:
    """List the targets, and which this machine can freeze.

    Example: vvbuild targets --json
    """
    from vvbuild.host.freezing import freezable
    from vvbuild.manifest.targets import official_targets
    from vvbuild.report.views.listings import targets_view

    return targets_view(official_targets(), frozenset(filter(freezable, official_targets())))
