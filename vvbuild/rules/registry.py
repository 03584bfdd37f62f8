"""Rules are functions with a name, a severity, a reason and a way out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from vvbuild.model.finding import SEVERITIES, Finding, Severity

EvidenceT = TypeVar("EvidenceT")
Check = Callable[[EvidenceT], Iterator["Found"]]


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule yields; the registry adds what is the same for all its findings.

    ``severity`` is that of this finding, where it is not the rule's.
    """

    message: str
    path: str | None = None
    evidence: dict[str, str] = field(default_factory=dict)
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class About:
    """What a rule says of itself, whatever it looks at."""

    name: str
    severity: Severity
    why: str
    source: str
    fix: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A named demand, and a check of it for each kind of evidence that can show it."""

    about: About
    checks: dict[type, Check[Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Kebab-case, as findings and waivers have it."""
        return self.about.name

    @property
    def demand(self) -> str:
        """What it demands, a sentence for each kind of evidence."""
        texts = (inspect.getdoc(check) or "" for check in self.checks.values())
        firsts = (" ".join(text.partition("\n\n")[0].split()) for text in texts)
        return " ".join(dict.fromkeys(firsts))

    @property
    def modules(self) -> tuple[str, ...]:
        """Where its checks stand."""
        return tuple(check.__module__ for check in self.checks.values())


RULES: dict[str, Rule] = {}


class Family(Generic[EvidenceT]):
    """The rules over one kind of evidence; each module of rules has one as its decorator."""

    def __init__(self, takes: type[EvidenceT]) -> None:
        self.takes = takes

    def __call__(
        self, name: str, severity: Severity, *, why: str, source: str, fix: str
    ) -> Callable[[Check[EvidenceT]], Check[EvidenceT]]:
        """Register a check under a kebab-case name."""
        return self.about(About(name, severity, why, source, fix))

    def about(self, about: About) -> Callable[[Check[EvidenceT]], Check[EvidenceT]]:
        """Register a check of a demand that other evidence can show as well."""

        def register(check: Check[EvidenceT]) -> Check[EvidenceT]:
            rule = RULES.setdefault(about.name, Rule(about))
            if rule.about != about or self.takes in rule.checks:
                raise ValueError(f"two rules are called {about.name!r}")
            rule.checks[self.takes] = check
            # By name, whichever module was imported first.
            ordered = sorted(rule.checks.items(), key=lambda each: each[0].__name__)
            rule.checks.clear()
            rule.checks.update(ordered)
            return check

        return register


def rules_over(takes: type) -> tuple[Rule, ...]:
    """The rules that judge this kind of evidence."""
    return tuple(each for each in RULES.values() if takes in each.checks)


def judge(evidence: Any) -> tuple[Finding, ...]:
    """Every finding of every rule over this kind of evidence.

    Errors stand first, then by rule and path. The evidence's ``target`` is the findings'.
    """
    target = str(evidence.target) if evidence.target else None
    takes = type(evidence)
    findings = [
        Finding(
            rule=each.name,
            severity=found.severity or each.about.severity,
            message=found.message,
            target=target,
            path=found.path,
            evidence=found.evidence,
            why=each.about.why,
            source=each.about.source,
            fix=each.about.fix,
        )
        for each in rules_over(takes)
        for found in each.checks[takes](evidence)
    ]
    return tuple(
        sorted(findings, key=lambda it: (SEVERITIES.index(it.severity), it.rule, it.path or ""))
    )
