"""Where findings about manifests stand, as readers of a repository name it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from vvbuild import resources
from vvbuild.model.finding import Finding
from vvbuild.report.document import Reported


def in_manifests(findings: Iterable[tuple[str, Finding]], directory: Path) -> tuple[Reported, ...]:
    """Findings of releases, whose paths are ``file:line``; ``directory`` is where this runs.

    Files of the checkout are named from its root, others from the root of the manifests that they
    belong to; what lies elsewhere is named without its directory, which is nobody's business.
    """
    checkout = checkout_root(directory)
    overlay = resources.overlay()
    others = (*((overlay,) if overlay else ()), resources.data_root())
    return tuple(_reported(release, finding, checkout, others) for release, finding in findings)


def checkout_root(directory: Path) -> Path:
    """The repository that holds ``directory``; else what Actions works on; else ``directory``."""
    here = directory.resolve()
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            return folder
    workspace = os.environ.get("GITHUB_WORKSPACE")
    return Path(workspace).resolve() if workspace else here


def _reported(release: str, finding: Finding, checkout: Path, others: tuple[Path, ...]) -> Reported:
    place, _, number = (finding.path or "").rpartition(":")
    if not place:
        return Reported(finding, release)
    path = Path(place).resolve()
    line = int(number)
    for root in (checkout, *others):
        if path.is_relative_to(root):
            name = path.relative_to(root).as_posix()
            return Reported(finding, release, name, line, in_checkout=root == checkout)
    return Reported(finding, release, path.name, line)
