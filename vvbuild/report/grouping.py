"""Findings that say the same, told once: what is wrong in one line of a manifest is one thing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from vvbuild.model.finding import SEVERITIES, Finding
from vvbuild.report.document import Reported


@dataclass(frozen=True, slots=True)
class Group:
    """One message at one place, and the targets that it is about, by release."""

    finding: Finding
    file: str | None
    line: int | None
    in_checkout: bool
    targets: dict[str, list[str]] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """``0.25.2: win-x64-cuda, linux-x64-cuda``; empty where nothing is said of it."""
        said = []
        for release, targets in self.targets.items():
            names = ", ".join(targets)
            said.append(f"{release}: {names}" if release and names else release or names)
        return "; ".join(each for each in said if each)


def grouped(findings: Iterable[Reported]) -> tuple[Group, ...]:
    """Findings by what they say and where; waived ones last, then the gravest first."""
    groups: dict[object, Group] = {}
    for each in findings:
        found = each.finding
        key = (found.rule, found.message, found.path, found.waived, each.file, each.line)
        group = groups.setdefault(key, Group(found, each.file, each.line, each.in_checkout))
        targets = group.targets.setdefault(each.release or "", [])
        if found.target and found.target not in targets:
            targets.append(found.target)
    return tuple(sorted(groups.values(), key=_weight))


def _weight(group: Group) -> tuple[bool, int, str]:
    finding = group.finding
    return finding.waived is not None, SEVERITIES.index(finding.severity), finding.rule
