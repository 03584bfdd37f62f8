"""``check``: hold the pins of releases against the rules."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from vvbuild.check.overrides import Override, with_overrides
from vvbuild.manifest.compat import compat_tables
from vvbuild.manifest.release import LoadedRelease
from vvbuild.model.finding import SEVERITIES, Finding, Severity
from vvbuild.model.release import Release
from vvbuild.model.target import Target
from vvbuild.rules import pins as _pins  # noqa: F401 - registers its rules
from vvbuild.rules import pins_gpu as _pins_gpu  # noqa: F401 - registers its rules
from vvbuild.rules import waivers as _waivers  # noqa: F401 - registers its rules
from vvbuild.rules.pin_evidence import Pin, PinEvidence, WaiverEvidence, WaiverUse
from vvbuild.rules.registry import judge


@dataclass(frozen=True, slots=True)
class CheckedRelease:
    """A release, the targets that were looked at, and what was found.

    A finding's ``path`` is ``file:line`` of the pin.
    """

    name: str
    targets: tuple[Target, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What ``check`` found, release by release; findings below ``min_severity`` are not shown."""

    releases: tuple[CheckedRelease, ...]
    overrides: tuple[Override, ...] = ()
    min_severity: Severity = "info"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, also those that are not shown."""
        return tuple(finding for each in self.releases for finding in each.findings)

    def shows(self, finding: Finding) -> bool:
        """Whether a finding weighs enough to be told; the grid counts all."""
        return SEVERITIES.index(finding.severity) <= SEVERITIES.index(self.min_severity)


def check(
    releases: Sequence[LoadedRelease],
    *,
    today: date,
    targets: Sequence[Target] = (),
    overrides: Sequence[Override] = (),
    min_severity: Severity = "info",
) -> CheckResult:
    """Judge the pins of each release for ``targets``, by default all that it is built for.

    ``overrides`` replace pins first. A waiver counts up to and with its last day. Raises
    :class:`~vvbuild.errors.UsageError` for an override that a release cannot have.
    """
    checked = []
    for release in releases:
        row = with_overrides(release.row, overrides)
        wanted = tuple(targets) or release.targets
        found = [*_judge_pins(row, wanted)]
        findings, uses = _waive(row, found, today)
        complete = set(wanted) >= set(release.targets) and not overrides
        waivers = WaiverEvidence(release.name, uses, today, complete)
        findings += [_about_waivers(each) for each in judge(waivers)]
        placed = tuple(map(_placed(release), findings))
        checked.append(CheckedRelease(release.name, wanted, placed))
    return CheckResult(tuple(checked), tuple(overrides), min_severity)


def pin_evidence(release: Release, target: Target) -> PinEvidence:
    """The pins of a release for one target, as facts for rules."""
    name = str(target)
    return PinEvidence(
        release=release.name,
        target=target,
        targets=tuple(release.targets),
        engine=release.engine.version,
        python=release.python.requires,
        pins=dict(_pins_for(release, name)),
        tables=compat_tables(),
    )


def _pins_for(release: Release, target: str) -> Iterator[tuple[str, Pin]]:
    with_files = {
        row.component
        for row in release.artifacts
        if any(fnmatch.fnmatchcase(target, pattern) for pattern in row.targets)
    }
    for name, component in release.components.items():
        if not component.concerns(target):
            continue
        glob = next((g for g in component.versions if fnmatch.fnmatchcase(target, g)), None)
        key = "version" if glob is None else f"versions.{glob}"
        yield (
            name,
            Pin(
                version=component.version_for(target),
                source=component.source,
                key=f"components.{name}.{key}",
                flavour=component.flavour,
                provided_by=component.provided_by,
                has_files=name in with_files,
            ),
        )


def _judge_pins(release: Release, targets: Sequence[Target]) -> Iterator[Finding]:
    for target in targets:
        yield from judge(pin_evidence(release, target))


def _waive(
    release: Release, findings: Sequence[Finding], today: date
) -> tuple[list[Finding], tuple[WaiverUse, ...]]:
    """Mark what a waiver accepts, and tell what became of each waiver."""
    waived = list(findings)
    uses = []
    for index, waiver in enumerate(release.waivers):
        expired = waiver.until is not None and waiver.until < today
        accepted = [
            place
            for place, finding in enumerate(findings)
            if finding.rule == waiver.rule
            and any(fnmatch.fnmatchcase(finding.target or "", glob) for glob in waiver.targets)
        ]
        for place in () if expired else accepted:
            waived[place] = replace(waived[place], waived=waiver.reason)
        uses.append(
            WaiverUse(
                rule=waiver.rule,
                targets=tuple(waiver.targets),
                key=f"waivers.{index}.{'until' if expired else 'rule'}",
                reason=waiver.reason,
                until=waiver.until,
                expired=expired,
                used=bool(accepted),
            )
        )
    return waived, tuple(uses)


def _about_waivers(finding: Finding) -> Finding:
    return replace(finding, target=finding.evidence["targets"])


def _placed(release: LoadedRelease) -> Callable[[Finding], Finding]:
    """Turn a rule's key into ``file:line``."""

    def placed(finding: Finding) -> Finding:
        parts = (finding.path or "").split(".")
        key = tuple(int(part) if part.isdigit() else part for part in parts if part)
        return replace(finding, path=release.document.where(key))

    return placed
