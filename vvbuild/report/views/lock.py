"""Views of locks."""

from __future__ import annotations

from vvbuild.locking.run import LockResult
from vvbuild.model.size import ByteSize
from vvbuild.report.document import Line, Table, View


def lock_view(result: LockResult) -> View:
    """What was locked, and what changed."""
    data: dict[str, object] = {
        "path": str(result.path),
        "artifacts": [
            {"name": it.name, "component": it.component, "size": it.size, "sha256": it.sha256}
            for it in result.artifacts
        ],
        "changed": list(result.changed),
    }
    rows = tuple(
        (it.component, it.name, str(ByteSize(it.size or 0)), (it.sha256 or "not known")[:12])
        for it in result.artifacts
    )
    table = Table(("component", "artifact", "size", "SHA-256"), rows, right=(2,), shrink=1)
    summary = f"{result.path}: {len(rows)} artifacts, {len(result.changed)} changed"
    return View(data, (table, Line(""), Line(summary, "good")))
