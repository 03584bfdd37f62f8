"""The view of ``fetch``."""

from __future__ import annotations

from vvbuild.bundle.fetching import FetchResult
from vvbuild.model.size import ByteSize
from vvbuild.report.document import Block, Line, Table, View


def fetch_view(result: FetchResult) -> View:
    """Each component as the tree that it is now, whoever brought it."""
    name = result.release.release.name
    data: dict[str, object] = {
        "release": name,
        "release_why": result.release.why,
        "target": str(result.target),
        "components": [
            {
                "component": each.name,
                "version": each.version,
                "fetcher": each.fetcher,
                "cached": each.cached,
                "tree": each.tree.digest.hex,
                "files": len(each.tree.entries),
                "size": each.tree.size,
            }
            for each in result.components
        ],
        "artifacts": [
            {
                "name": each.name,
                "component": each.component,
                "size": each.size,
                "sha256": each.sha256.hex,
            }
            for each in result.artifacts
        ],
        "terms": [
            {"sha256": each.sha256.hex, "artifacts": list(each.artifacts)} for each in result.terms
        ],
        "direct_because": result.why or None,
        "out": str(result.out) if result.out else None,
    }
    rows = tuple(
        (
            each.name,
            each.version,
            "cached" if each.cached else each.fetcher,
            str(len(each.tree.entries)),
            str(each.tree.size),
            each.tree.digest.short,
        )
        for each in result.components
    )
    blocks: list[Block] = [
        Table(("component", "version", "brought", "files", "size", "tree"), rows, right=(3, 4))
    ]
    if result.why:
        blocks.append(Line(f"Not by the core's downloader: {result.why}", "dim"))
    size = ByteSize(sum(each.tree.size for each in result.components))
    count = len(result.components)
    where = f"; laid out in {result.out}" if result.out else ""
    blocks.append(
        Line(
            f"{name} ({result.release.why}) for {result.target}: {count} "
            f"component{'' if count == 1 else 's'}, {size}, in the store{where}",
            "good",
        )
    )
    return View(data, tuple(blocks))
