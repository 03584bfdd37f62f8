"""Views of findings: one rule, one paragraph, however many files it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vvbuild.model.finding import SEVERITIES, Finding, worst
from vvbuild.report.document import Block, Line, Reported, Style, View
from vvbuild.report.sanitize import clean
from vvbuild.verify.report import finding_as_json
from vvbuild.verify.run import Verdict

_STYLES: dict[str, Style] = {"error": "bad", "warning": "warn", "info": "dim"}
_SHOWN = 8
_SHOWN_FILES = 6


def finding_blocks(findings: Sequence[Finding]) -> tuple[Block, ...]:
    """Findings grouped by rule, the gravest first, and last what a waiver accepts."""
    groups: dict[tuple[bool, int, str], list[Finding]] = {}
    for finding in findings:
        weight = SEVERITIES.index(finding.severity)
        groups.setdefault((finding.waived is not None, weight, finding.rule), []).append(finding)
    ordered = sorted(groups, key=lambda key: key[:2])
    return tuple(block for key in ordered for block in _group(groups[key]))


def verdict_view(verdict: Verdict) -> View:
    """What ``verify`` found in one bundle."""
    return verdicts_view((verdict,))


def verdicts_view(verdicts: Sequence[Verdict]) -> View:
    """What ``verify`` found; of several bundles each has its own paragraphs."""
    findings = tuple(finding for verdict in verdicts for finding in verdict.findings)
    blocks: list[Block] = []
    for verdict in verdicts:
        blocks += [*finding_blocks(verdict.findings), _summary(verdict)]
    found = tuple(Reported(finding, file=finding.path) for finding in findings)
    status = 1 if worst(findings) == "error" else 0
    return View(_data(verdicts), tuple(blocks), status=status, findings=found)


def _data(verdicts: Sequence[Verdict]) -> dict[str, object]:
    bundles = [
        {
            "path": str(verdict.path),
            "target": str(verdict.target) if verdict.target else None,
            "files": verdict.files,
        }
        for verdict in verdicts
    ]
    several = len(verdicts) > 1
    findings = [
        finding_as_json(finding) | ({"bundle": str(verdict.path)} if several else {})
        for verdict in verdicts
        for finding in verdict.findings
    ]
    return {**({} if several else bundles[0]), "bundles": bundles, "findings": findings}


def _summary(verdict: Verdict) -> Line:
    failed = worst(verdict.findings) == "error"
    counts = [
        f"{number} {severity}"
        for severity in SEVERITIES
        if (number := _count(verdict.findings, severity))
    ]
    waived = sum(finding.waived is not None for finding in verdict.findings)
    counts += [f"{waived} waived"] if waived else []
    words = f"{verdict.path}: {verdict.files} files, {', '.join(counts) or 'no findings'}"
    return Line(words, "bad" if failed else "good")


def _count(findings: Sequence[Finding], severity: str) -> int:
    return sum(each.severity == severity and each.waived is None for each in findings)


def _group(group: Sequence[Finding]) -> Iterator[Block]:
    first = group[0]
    waived = " (waived)" if first.waived is not None else ""
    style: Style = "dim" if waived else _STYLES[first.severity]
    yield Line(f"{first.severity}[{first.rule}]{waived}", style)
    for finding in group[:_SHOWN]:
        # One line each: a name that holds a line end must not begin another finding.
        yield Line(f"  {clean(_sentence(finding))}", hang=4)
        if finding.waived is not None:
            yield Line(f"    waived: {clean(finding.waived)}", hang=6)
    if len(group) > _SHOWN:
        yield Line(f"  … and {len(group) - _SHOWN} more", "dim")
    yield Line(f"  why: {first.why} ({first.source})", "dim", hang=4)
    yield Line(f"  → {first.fix}", hang=4)


def _sentence(finding: Finding) -> str:
    """What was found and where: in one file, or in those that its evidence lists."""
    files = finding.evidence.get("files", "").split(", ")
    if len(files) > 1:
        more = len(files) - _SHOWN_FILES
        names = ", ".join(files[:_SHOWN_FILES]) + (f" and {more} more" if more > 0 else "")
        return f"{finding.message}: {names}"
    return f"{finding.path}: {finding.message}" if finding.path else finding.message
