"""What is known to go wrong with a component."""

from __future__ import annotations

from collections.abc import Iterator

from vvbuild.explain.explanation import Fact
from vvbuild.manifest.compat import compat_tables
from vvbuild.model.release import Flavour
from vvbuild.model.version import within


def troubles(component: str, version: str | None, flavour: Flavour | None = None) -> Iterator[Fact]:
    """The rows about a version, or all about the component."""
    for row in compat_tables().troubles.trouble:
        if row.component != component or (version and not within(version, row.versions)):
            continue
        if flavour is not None and row.flavour not in (None, flavour):
            continue
        beside = "".join(f" beside {name} {range_}" for name, range_ in row.together.items())
        where = "" if row.targets == ["*"] else f" ({', '.join(row.targets)})"
        yield Fact(
            "known to be bad" if row.grave else "known trouble",
            f"{row.what}{beside}{where}",
            row.source,
            row.flavour or "",
            row.versions,
        )
