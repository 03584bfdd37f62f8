"""The view of ``check``: a grid that reads at a glance, then each thing once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vvbuild.check.run import CheckedRelease, CheckResult
from vvbuild.manifest.targets import official_targets
from vvbuild.model.finding import SEVERITIES, Finding, worst
from vvbuild.model.target import Target
from vvbuild.report.document import Block, Line, Style, Table, View
from vvbuild.report.places import in_manifests
from vvbuild.report.wording import short_path, spans
from vvbuild.verify.report import finding_as_json

_STYLES: dict[str, Style] = {"error": "bad", "warning": "warn", "info": "dim"}
_CELLS = {"error": "ERROR", "warning": "warn", "info": "info", None: "ok"}
_DEVICES = {"cuda": "cuda", "directml": "dml"}
_NOT_BUILT = "-"
_ALL = "every target"


@dataclass(frozen=True, slots=True)
class _Placed:
    release: str
    finding: Finding


def check_view(result: CheckResult, *, base: Path) -> View:
    """What ``check`` found; paths below ``base`` are shown relative to it."""
    shown = [
        _Placed(each.name, finding)
        for each in result.releases
        for finding in each.findings
        if result.shows(finding)
    ]
    failed = worst(result.findings) == "error"
    data: dict[str, object] = {
        "releases": [
            {"name": each.name, "targets": [str(target) for target in each.targets]}
            for each in result.releases
        ],
        "set": {
            each.component: f"{each.flavour}:{each.version}" if each.flavour else each.version
            for each in result.overrides
        },
        "findings": [
            finding_as_json(each.finding)
            | {"release": each.release, "path": short_path(each.finding.path, base)}
            for each in shown
        ],
    }
    blocks: list[Block] = [_grid(result.releases)] if len(result.releases) > 1 else []
    blocks += _grouped(shown, result.releases, base)
    blocks.append(Line(_summary(result), "bad" if failed else "good"))
    found = in_manifests(((each.release, each.finding) for each in shown), base)
    return View(data, tuple(blocks), status=1 if failed else 0, findings=found)


def short_name(target: Target) -> str:
    """A target in six letters: ``l-cuda``; the processor stands where there are several."""
    by_arch = target.os == "macos" or target.arch != "x64"
    return (
        f"{target.os[0]}-{_DEVICES.get(target.device) or (target.arch[:3] if by_arch else 'cpu')}"
    )


def _grid(releases: Sequence[CheckedRelease]) -> Table:
    looked_at = {target for each in releases for target in each.targets}
    columns = [target for target in official_targets() if target in looked_at]
    rows = tuple((each.name, *(_cell(each, target) for target in columns)) for each in releases)
    return Table(("release", *map(short_name, columns)), rows, shrink=0)


def _cell(release: CheckedRelease, target: Target) -> str:
    if target not in release.targets:
        return _NOT_BUILT
    found = tuple(each for each in release.findings if each.target == str(target))
    gravest = worst(found)
    return "waived" if gravest is None and found else _CELLS[gravest]


def _grouped(
    placed: Sequence[_Placed], checked: Sequence[CheckedRelease], base: Path
) -> Iterator[Block]:
    rules: dict[tuple[bool, str], list[_Placed]] = {}
    for each in placed:
        rules.setdefault((each.finding.waived is not None, each.finding.rule), []).append(each)
    ordered = sorted(
        rules.values(),
        key=lambda group: (
            group[0].finding.waived is not None,
            SEVERITIES.index(group[0].finding.severity),
            group[0].finding.rule,
        ),
    )
    for group in ordered:
        first = group[0].finding
        waived = " (waived)" if first.waived else ""
        style: Style = "dim" if first.waived else _STYLES[first.severity]
        yield Line(f"{first.severity}[{first.rule}]{waived}", style)
        messages: dict[tuple[str, str | None], list[_Placed]] = {}
        for each in group:
            key = (each.finding.message, each.finding.waived)
            messages.setdefault(key, []).append(each)
        for (message, reason), same in messages.items():
            yield Line(f"  {message}")
            yield from (Line(f"    {text}", "dim") for text in _where(same, checked, base))
            if reason:
                yield Line(f"    waived: {reason}")
        yield Line(f"  why: {first.why} ({first.source})", "dim")
        yield Line(f"  → {first.fix}")


def _where(same: Sequence[_Placed], checked: Sequence[CheckedRelease], base: Path) -> Iterator[str]:
    """Releases with the same targets on one line, then the lines of the pins."""
    targets: dict[str, dict[str, None]] = {}
    for each in same:
        targets.setdefault(each.release, {})[each.finding.target or "*"] = None
    sizes = {each.name: len(each.targets) for each in checked}
    by_targets: dict[str, list[str]] = {}
    for release, names in targets.items():
        words = _ALL if len(names) > 1 and len(names) == sizes[release] else ", ".join(names)
        by_targets.setdefault(words, []).append(release)
    for words, releases in by_targets.items():
        yield f"{spans(releases, [each.name for each in checked])}: {words}"
    places = dict.fromkeys(
        short_path(each.finding.path, base) for each in same if each.finding.path
    )
    if places:
        yield f"at {', '.join(str(place) for place in places)}"


def _summary(result: CheckResult) -> str:
    pairs = sum(len(each.targets) for each in result.releases)
    counts = [
        f"{number} {severity}{'s' if number > 1 and severity != 'info' else ''}"
        for severity in SEVERITIES
        if (number := _count(result.findings, severity))
    ]
    waived = sum(finding.waived is not None for finding in result.findings)
    counts += [f"{waived} waived"] if waived else []
    hidden = sum(not result.shows(finding) for finding in result.findings)
    counts += [f"{hidden} not shown"] if hidden else []
    many = len(result.releases)
    what = result.releases[0].name if many == 1 else f"{many} releases"
    return f"{what}, {pairs} bundles: {', '.join(counts) or 'no findings'}"


def _count(findings: Sequence[Finding], severity: str) -> int:
    return sum(each.severity == severity and each.waived is None for each in findings)
