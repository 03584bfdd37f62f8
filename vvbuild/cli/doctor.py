"""``vvbuild doctor``."""

from __future__ import annotations

from vvbuild.cli.app import command
from vvbuild.cli.ui import Ui
from vvbuild.report.document import View


@command("doctor")
def doctor(ui: Ui) -> View:
    """Say what this machine can build, and how to mend it.

    Example: vvbuild doctor
    """
    from vvbuild.fetch.store import Store, default_root
    from vvbuild.host.doctor import examine
    from vvbuild.report.views.host import doctor_view

    return doctor_view(examine(Store(default_root())))
