"""Which downloaders take a version."""

from __future__ import annotations

from collections.abc import Iterator

from vvbuild.explain.explanation import Relation
from vvbuild.explain.judging import FITS, REFUSED
from vvbuild.manifest.compat import compat_tables
from vvbuild.model.release import ComponentName
from vvbuild.model.version import within


def downloaders(component: ComponentName, version: str | None) -> Iterator[Relation]:
    """The range of every downloader that has one, and whether the version lies in it."""
    for row in compat_tables().core.core:
        wanted = row.downloads.get(component)
        if wanted is not None:
            said = ""
            if version is not None:
                said = FITS if within(version, wanted) else REFUSED
            yield Relation("downloader", f"{row.versions} takes {wanted}", row.source, "", said)
