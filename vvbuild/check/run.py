"""``check``: hold the pins of releases against the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from vvbuild.check.overrides import Override, with_overrides
from vvbuild.manifest.compat import compat_tables
from vvbuild.manifest.decode import no_such
from vvbuild.manifest.release import LoadedRelease
from vvbuild.manifest.targets import official_targets
from vvbuild.model.finding import SEVERITIES, Finding, Severity
from vvbuild.model.release import Component, Release
from vvbuild.model.target import Target, covered
from vvbuild.rules import pins as _pins  # noqa: F401 - registers its rules
from vvbuild.rules import pins_cores as _pins_cores  # noqa: F401 - registers its rules
from vvbuild.rules import pins_gpu as _pins_gpu  # noqa: F401 - registers its rules
from vvbuild.rules import pins_known as _pins_known  # noqa: F401 - registers its rules
from vvbuild.rules import waivers as _waivers  # noqa: F401 - registers its rules
from vvbuild.rules.pin_evidence import (
    Pin,
    PinEvidence,
    PinnedReference,
    WaiverEvidence,
    WaiverUse,
)
from vvbuild.rules.registry import RULES, judge


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
    files = tuple(_references(release, name))
    with_files = {each.component for each in files}
    official = official_targets().get(target)
    return PinEvidence(
        release=release.name,
        target=target,
        targets=tuple(release.targets),
        engine=release.engine.version,
        python=release.python.requires,
        pins={
            component: _pin(component, row, name, has_files=component in with_files)
            for component, row in release.components.items()
            if row.concerns(name)
        },
        tables=compat_tables(),
        runner=release.runners.get(name) or (official.runner if official else None),
        references=files,
    )


def _references(release: Release, target: str) -> Iterator[PinnedReference]:
    for place, row in enumerate(release.artifacts):
        if covered(target, row.targets):
            for index, text in enumerate(row.references):
                yield PinnedReference(row.component, text, f"artifacts.{place}.references.{index}")


def _pin(name: str, component: Component, target: str, *, has_files: bool) -> Pin:
    glob = component.glob_for(target)
    key = "version" if glob is None else f"versions.{glob}"
    return Pin(
        version=component.version_for(target),
        source=component.source,
        key=f"components.{name}.{key}",
        flavour=component.flavour,
        provided_by=component.provided_by,
        has_files=has_files,
        also=tuple(component.also),
        pattern=component.pattern,
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
            if finding.rule == waiver.rule and covered(finding.target or "", waiver.targets)
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
                unknown=_unknown(waiver.rule),
                used=bool(accepted) or _is_for_verify(waiver.rule),
            )
        )
    return waived, tuple(uses)


def _is_for_verify(name: str) -> bool:
    """Whether a rule looks at the bytes of a bundle: its findings are waived there, not here."""
    return name in RULES and not RULES[name].checks.keys() & {PinEvidence, WaiverEvidence}


def _unknown(name: str) -> str | None:
    """The sentence about a rule that there is not."""
    if name not in RULES:
        # The rules over bytes need the readers of binaries; few manifests name one of them.
        from vvbuild.rules import bundle as _bundle  # noqa: F401 - registers its rules
    return None if name in RULES else no_such("rule", name, sorted(RULES))


def _about_waivers(finding: Finding) -> Finding:
    return replace(finding, target=finding.evidence["targets"])


def _placed(release: LoadedRelease) -> Callable[[Finding], Finding]:
    """Turn a rule's key into ``file:line``."""

    def placed(finding: Finding) -> Finding:
        parts = (finding.path or "").split(".")
        key = tuple(int(part) if part.isdigit() else part for part in parts if part)
        return replace(finding, path=release.document.where(key))

    return placed
