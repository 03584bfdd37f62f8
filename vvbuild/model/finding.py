"""What a rule says about one thing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found.

    ``path`` is relative to what was looked at, with forward slashes; ``evidence`` are the
    facts that the rule judged; ``why`` is the reason behind the rule and ``source`` where
    that reason can be read; ``fix`` says what to do.
    """

    rule: str
    severity: Severity
    message: str
    target: str | None = None
    path: str | None = None
    evidence: dict[str, str] = field(default_factory=dict)
    why: str = ""
    source: str = ""
    fix: str = ""
    waived: str | None = None


def worst(findings: tuple[Finding, ...]) -> Severity | None:
    """The gravest severity among findings that nobody waived, ``None`` without any."""
    present = {finding.severity for finding in findings if finding.waived is None}
    return next((severity for severity in SEVERITIES if severity in present), None)
