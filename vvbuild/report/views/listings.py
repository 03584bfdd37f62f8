"""Views of what exists: targets and releases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from vvbuild.manifest.release import LoadedRelease
from vvbuild.model.release import TargetRow
from vvbuild.model.target import Target
from vvbuild.report.document import Table, View


def targets_view(targets: Mapping[Target, TargetRow], freezable: Collection[Target]) -> View:
    """The targets, with upstream's names and whether this machine can freeze them."""
    data: list[dict[str, object]] = []
    rows = []
    for target, row in targets.items():
        native = target in freezable
        data.append(
            {
                "name": str(target),
                "os": target.os,
                "arch": target.arch,
                "device": target.device,
                "upstream": row.upstream,
                "aliases": [row.upstream, *row.aliases],
                "runner": row.runner,
                "freezes_here": native,
            }
        )
        names = ", ".join((row.upstream, *row.aliases))
        rows.append((str(target), names, row.runner, "yes" if native else "no"))
    table = Table(("target", "also called", "CI runner", "freezes here"), tuple(rows), shrink=1)
    return View({"targets": data}, (table,))


def releases_view(releases: Sequence[LoadedRelease]) -> View:
    """The releases, with the pins that people look for first."""
    data: list[dict[str, object]] = []
    rows = []
    for release in releases:
        row = release.row
        versions = {name: component.version for name, component in row.components.items()}
        data.append(
            {
                "name": release.name,
                "summary": row.summary,
                "engine": row.engine.version,
                "python": row.python.requires,
                "targets": row.targets,
                "components": versions,
            }
        )
        rows.append(
            (
                release.name,
                row.engine.version,
                versions.get("onnxruntime", ""),
                versions.get("pyinstaller", ""),
                row.python.requires,
                str(len(row.targets)),
            )
        )
    columns = ("release", "engine", "onnxruntime", "pyinstaller", "python", "targets")
    return View({"releases": data}, (Table(columns, tuple(rows), right=(5,), shrink=4),))
