"""Rules are functions with a name, a severity, a reason and a way out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from vvbuild.model.finding import SEVERITIES, Finding, Severity

EvidenceT = TypeVar("EvidenceT")


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule yields; the registry adds what is the same for all its findings."""

    message: str
    path: str | None = None
    evidence: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rule:
    """A named check over one kind of evidence, ``takes``."""

    name: str
    severity: Severity
    why: str
    source: str
    fix: str
    takes: type
    check: Callable[[Any], Iterator[Found]]


RULES: dict[str, Rule] = {}


class Family(Generic[EvidenceT]):
    """The rules over one kind of evidence; each module of rules has one as its decorator."""

    def __init__(self, takes: type[EvidenceT]) -> None:
        self.takes = takes

    def __call__(
        self, name: str, severity: Severity, *, why: str, source: str, fix: str
    ) -> Callable[[Callable[[EvidenceT], Iterator[Found]]], Callable[[EvidenceT], Iterator[Found]]]:
        """Register a check under a kebab-case name."""

        def register(
            check: Callable[[EvidenceT], Iterator[Found]],
        ) -> Callable[[EvidenceT], Iterator[Found]]:
            if name in RULES:
                raise ValueError(f"two rules are called {name!r}")
            RULES[name] = Rule(name, severity, why, source, fix, self.takes, check)
            return check

        return register


def rules_over(takes: type) -> tuple[Rule, ...]:
    """The rules that judge this kind of evidence."""
    return tuple(each for each in RULES.values() if each.takes is takes)


def judge(evidence: Any) -> tuple[Finding, ...]:
    """Every finding of every rule over this kind of evidence.

    Errors stand first, then by rule and path. The evidence's ``target`` is the findings'.
    """
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
        for each in rules_over(type(evidence))
        for found in each.check(evidence)
    ]
    return tuple(
        sorted(findings, key=lambda it: (SEVERITIES.index(it.severity), it.rule, it.path or ""))
    )
