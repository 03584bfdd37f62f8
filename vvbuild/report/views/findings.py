"""Views of findings: one rule, one paragraph, however many files it names."""

from __future__ import annotations

from collections.abc import Sequence

from vvbuild.model.finding import SEVERITIES, Finding, worst
from vvbuild.report.document import Block, Line, Reported, Style, View
from vvbuild.report.sanitize import clean
from vvbuild.verify.report import finding_as_json
from vvbuild.verify.run import Verdict

_STYLES: dict[str, Style] = {"error": "bad", "warning": "warn", "info": "dim"}
_SHOWN = 8


def finding_blocks(findings: Sequence[Finding]) -> tuple[Block, ...]:
    """Findings grouped by rule, the gravest first."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.rule, []).append(finding)
    ordered = sorted(groups.values(), key=lambda group: SEVERITIES.index(group[0].severity))
    return tuple(block for group in ordered for block in _group(group))


def verdict_view(verdict: Verdict) -> View:
    """What ``verify`` found."""
    findings = verdict.findings
    failed = worst(findings) == "error"
    data: dict[str, object] = {
        "path": str(verdict.path),
        "target": str(verdict.target) if verdict.target else None,
        "files": verdict.files,
        "findings": [finding_as_json(finding) for finding in findings],
    }
    counts = [f"{_count(findings, each)} {each}" for each in SEVERITIES if _count(findings, each)]
    summary = f"{verdict.path}: {verdict.files} files, {', '.join(counts) or 'no findings'}"
    blocks = (*finding_blocks(findings), Line(summary, "bad" if failed else "good"))
    found = tuple(Reported(finding, file=finding.path) for finding in findings)
    return View(data, blocks, status=1 if failed else 0, findings=found)


def _count(findings: Sequence[Finding], severity: str) -> int:
    return sum(finding.severity == severity for finding in findings)


def _group(group: Sequence[Finding]) -> tuple[Block, ...]:
    first = group[0]
    lines: list[Block] = [Line(f"{first.severity}[{first.rule}]", _STYLES[first.severity])]
    for finding in group[:_SHOWN]:
        where = f"{finding.path}: " if finding.path else ""
        # One line each: a name that holds a line end must not begin another finding.
        lines.append(Line(f"  {clean(where + finding.message)}"))
    if len(group) > _SHOWN:
        lines.append(Line(f"  … and {len(group) - _SHOWN} more", "dim"))
    lines.append(Line(f"  why: {first.why} ({first.source})", "dim"))
    lines.append(Line(f"  → {first.fix}"))
    return tuple(lines)
