"""Waivers over findings of bytes: shown, never silent, and over when their day is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from vvbuild.model.finding import SEVERITIES, Finding
from vvbuild.model.release import Release
from vvbuild.model.target import Target, covered
from vvbuild.rules import waivers as _waivers  # noqa: F401 - registers its rules
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import RULES


@dataclass(frozen=True, slots=True)
class Permission:
    """A waiver that is about the bundle at hand; ``source`` says where it is written."""

    rule: str
    reason: str
    until: date | None
    source: str


def of_release(release: Release, target: Target) -> tuple[Permission, ...]:
    """The waivers of a release's manifest for one target."""
    return tuple(
        Permission(each.rule, each.reason, each.until, f"the manifest of {release.name}")
        for each in release.waivers
        if covered(str(target), each.targets)
    )


def recorded(evidence: BundleEvidence) -> tuple[Permission, ...]:
    """Those that were in force when the bundle was built, as its vvbuild.json tells."""
    rows = evidence.section("overrides").get("waivers")
    found = []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        rule, reason, until = row.get("rule"), row.get("reason"), row.get("until")
        if not isinstance(rule, str) or not isinstance(reason, str) or not reason.strip():
            continue
        try:
            end = date.fromisoformat(until) if isinstance(until, str) else None
        except ValueError:
            continue  # with an end that nobody can read it is over
        if until is None or end is not None:
            found.append(Permission(rule, reason, end, "vvbuild.json"))
    return tuple(found)


def waive(
    findings: Iterable[Finding], waivers: Sequence[Permission], today: date
) -> tuple[Finding, ...]:
    """Mark what a waiver accepts. One that is over, and would, is told as a warning."""
    result = []
    over: dict[str, Permission] = {}
    for finding in findings:
        matching = [each for each in waivers if each.rule == finding.rule]
        valid = next((each for each in matching if not _is_over(each, today)), None)
        if valid is not None:
            result.append(replace(finding, waived=valid.reason))
            continue
        over.update({finding.rule: matching[0]} if matching else {})
        result.append(finding)
    result += [_expired(each) for each in over.values()]
    return tuple(sorted(result, key=lambda each: SEVERITIES.index(each.severity)))


def _is_over(waiver: Permission, today: date) -> bool:
    return waiver.until is not None and waiver.until < today


def _expired(waiver: Permission) -> Finding:
    about = RULES["waiver-expired"].about
    return Finding(
        rule=about.name,
        severity=about.severity,
        message=f"the waiver of {waiver.rule} in {waiver.source} ended on {waiver.until}",
        evidence={"reason": waiver.reason},
        why=about.why,
        source=about.source,
        fix=about.fix,
    )
