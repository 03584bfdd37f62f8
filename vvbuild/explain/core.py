"""A core, and the downloader that comes with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from vvbuild.explain.downloaders import downloaders
from vvbuild.explain.explanation import Explanation, Fact, Relation
from vvbuild.explain.judging import chosen, unknown
from vvbuild.explain.pinned import pinned
from vvbuild.explain.summaries import SUMMARIES
from vvbuild.explain.troubles import troubles
from vvbuild.manifest.compat import compat_tables
from vvbuild.model.compat import CoreRow


def explain_core(
    name: Literal["core", "extra-cores", "downloader"], version: str | None
) -> Explanation:
    """What is known of a version of the core, of further cores, or of the downloader."""
    table = compat_tables().core.core
    rows = chosen(table, version)
    remarks = () if rows or version is None else (unknown(f"{name} {version}", table, version),)
    is_core = name != "downloader"
    facts = [fact for row in rows if is_core for fact in _facts(row)]
    needs = [need for row in rows if is_core for need in _needs(row)]
    taken = [need for row in rows for need in _downloads(row, is_core=is_core)]
    needed_by = [*downloaders("core", version)] if is_core else []
    return Explanation(
        "component",
        name,
        SUMMARIES[name],
        version=version,
        remarks=remarks,
        facts=(*facts, *troubles("core" if is_core else name, version)),
        needs=(*needs, *taken),
        needed_by=tuple(needed_by),
        releases=(
            *pinned(name, version),
            *(pinned("extra-cores", version) if name == "core" else ()),
        ),
    )


def _facts(row: CoreRow) -> Iterator[Fact]:
    about = row.versions
    only = row.file_name == "versioned"
    how = "outside of Windows no other" if only else "or another version of it"
    yield Fact("opens", f"{row.library} {row.onnxruntime}, {how}", row.source, versions=about)
    formats = ", ".join(map(str, row.models))
    voices = f"of format {formats}" if formats else "none; the voices are inside"
    yield Fact("loads voice models", voices, row.source, versions=about)


def _needs(row: CoreRow) -> Iterator[Relation]:
    about = row.versions
    least, most = row.onnxruntime_least, row.onnxruntime_most
    if least is None and most is None:
        yield Relation("onnxruntime", row.onnxruntime, row.source, versions=about)
    else:
        bounds = [f"{least} or newer"] if least else []
        bounds += [f"tried up to {most}"] if most else []
        what = f"{', '.join(bounds)}; {row.onnxruntime} is the one it was made for"
        yield Relation("onnxruntime", what, row.source, versions=about)
    yield Relation("cuda", f"{row.cuda}, for targets with CUDA", row.source, versions=about)
    for models in compat_tables().models.models:
        if models.format in row.models:
            what = f"{models.versions} have format {models.format}"
            yield Relation("models", what, models.source, versions=about)


def _downloads(row: CoreRow, *, is_core: bool) -> Iterator[Relation]:
    whose = "its downloader takes " if is_core else ""
    for name, wanted in row.downloads.items():
        yield Relation(name, f"{whose}{wanted}", row.source, versions=row.versions)
