"""Views of what exists: targets and releases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from vvbuild.manifest.release import LoadedRelease
from vvbuild.model.tables import TargetRow
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
    """The releases, with the pins that people look for first; the data has all of them."""
    rows = tuple(_release_cells(release) for release in releases)
    columns = ("release", "core", "onnxruntime", "cuda", "cudnn", "python")
    table = Table(columns, rows, shrink=5)
    return View({"releases": [_release_data(release) for release in releases]}, (table,))


def _release_data(release: LoadedRelease) -> dict[str, object]:
    row = release.row
    return {
        "name": release.name,
        "summary": row.summary,
        "extends": row.extends,
        "engine": row.engine.version,
        "source": row.engine.source,
        "repository": row.engine.repository,
        "commit": row.engine.commit,
        "python": row.python.requires,
        "targets": row.targets,
        "components": {name: component.version for name, component in row.components.items()},
        "flavour": _flavour(release),
    }


def _release_cells(release: LoadedRelease) -> tuple[str, ...]:
    components = release.row.components
    pins = {name: component.version for name, component in components.items()}
    return (
        release.name,
        pins.get("core", ""),
        f"{pins.get('onnxruntime', '')} {_flavour(release) or ''}".strip(),
        pins.get("cuda", ""),
        pins.get("cudnn", ""),
        release.row.python.requires.removeprefix("=="),
    )


def _flavour(release: LoadedRelease) -> str | None:
    component = release.row.components.get("onnxruntime")
    return component.flavour if component else None
