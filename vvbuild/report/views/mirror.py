"""The view of ``mirror``."""

from __future__ import annotations

from vvbuild.mirror.carry import Carried
from vvbuild.model.size import ByteSize
from vvbuild.report.document import Line, Table, View


def mirror_view(carried: Carried, where: str) -> View:
    """The files that were carried, and how many of them are new there."""
    data: dict[str, object] = {
        "directory": str(carried.directory),
        "artifacts": [
            {
                "name": file.name,
                "component": file.component,
                "version": file.version,
                "sha256": file.sha256,
                "size": file.size,
                "licence": file.licence,
            }
            for file in carried.files
        ],
        "bytes": carried.size,
        "new": carried.new,
    }
    rows = tuple(
        (file.name, str(ByteSize(file.size)), file.sha256[:12])
        for file in sorted(carried.files, key=lambda file: file.name)
    )
    summary = f"{len(rows)} files, {carried.size}, {where}; {carried.new} of them are new"
    return View(
        data,
        (
            Table(("file", "size", "SHA-256"), rows, right=(1,), shrink=0),
            Line(""),
            Line(f"{carried.directory}: {summary}", "good"),
        ),
    )
