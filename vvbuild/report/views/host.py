"""Views of this machine and its store."""

from __future__ import annotations

from vvbuild.host.doctor import Diagnosis
from vvbuild.report.document import Block, Line, Table, View

_WORDS = {"good": "ok", "warn": "low", "bad": "missing"}


def doctor_view(diagnosis: Diagnosis) -> View:
    """What was looked at, and what to do."""
    checks = diagnosis.checks
    data: dict[str, object] = {
        "checks": [
            {"name": it.name, "state": it.state, "found": it.found, "hint": it.hint}
            for it in checks
        ],
        "targets": list(diagnosis.targets),
    }
    rows = tuple((it.name, _WORDS[it.state], it.found) for it in checks)
    blocks: list[Block] = [Table(("what", "state", "found"), rows, shrink=2), Line("")]
    blocks.extend(Line(f"→ {it.name}: {it.hint}", "warn") for it in checks if it.hint)
    if diagnosis.targets:
        blocks.append(Line(f"This machine can freeze {', '.join(diagnosis.targets)}.", "good"))
    else:
        blocks.append(Line("This machine cannot freeze anything yet.", "bad"))
    return View(data, tuple(blocks), status=0 if diagnosis.targets else 5)
