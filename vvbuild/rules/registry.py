"""Rules are functions with a name, a severity, a reason and a way out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from vvbuild.model.finding import Finding, Severity
from vvbuild.rules.evidence import BundleEvidence


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule yields; the registry adds what is the same for all its findings."""

    message: str
    path: str | None = None
    evidence: dict[str, str] = field(default_factory=dict)


Check: TypeAlias = Callable[[BundleEvidence], Iterator[Found]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A named check."""

    name: str
    severity: Severity
    why: str
    source: str
    fix: str
    check: Check


RULES: dict[str, Rule] = {}


def rule(
    name: str, severity: Severity, *, why: str, source: str, fix: str
) -> Callable[[Check], Check]:
    """Register a check under a kebab-case name."""

    def register(check: Check) -> Check:
        if name in RULES:
            raise ValueError(f"two rules are called {name!r}")
        RULES[name] = Rule(name, severity, why, source, fix, check)
        return check

    return register


def judge(evidence: BundleEvidence) -> tuple[Finding, ...]:
    """Every finding of every rule, errors first, then by rule and path."""
    from vvbuild.model.finding import SEVERITIES

    target = str(evidence.target) if evidence.target else None
    findings = [
        Finding(
            rule=each.name,
            severity=each.severity,
            message=found.message,
            target=target,
            path=found.path,
            evidence=found.evidence,
            why=each.why,
            source=each.source,
            fix=each.fix,
        )
        for each in RULES.values()
        for found in each.check(evidence)
    ]
    return tuple(
        sorted(findings, key=lambda it: (SEVERITIES.index(it.severity), it.rule, it.path or ""))
    )
