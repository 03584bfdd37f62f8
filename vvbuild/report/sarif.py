"""Findings as SARIF 2.1.0 (OASIS), for code scanning and editors.

No time, path or name of this machine is in it, so that equal findings give equal bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from vvbuild import __version__
from vvbuild.errors import VvbuildError
from vvbuild.model.finding import Finding
from vvbuild.report.document import Reported
from vvbuild.report.grouping import Group, grouped
from vvbuild.report.sanitize import clean, clean_lines
from vvbuild.report.wording import source_address
from vvbuild.rules.registry import RULES

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif(findings: Iterable[Reported]) -> dict[str, object]:
    """The log of a command that judged."""
    groups = grouped(findings)
    rules = sorted({group.finding.rule: group.finding for group in groups}.items())
    order = [name for name, _ in rules]
    run: dict[str, object] = {
        "tool": {"driver": _driver([_rule(finding) for _, finding in rules])},
        "columnKind": "unicodeCodePoints",
        "results": [_result(group, order) for group in groups],
    }
    return _log(run)


def sarif_error(error: VvbuildError) -> dict[str, object]:
    """The log of a command that could not judge."""
    told: dict[str, object] = {
        "descriptor": {"id": error.code},
        "level": "error",
        "message": {"text": _lines(error.message, f"→ {error.hint}" if error.hint else "")},
    }
    run: dict[str, object] = {
        "tool": {"driver": _driver([])},
        "invocations": [
            {
                "executionSuccessful": False,
                "exitCode": int(error.exit_status),
                "toolExecutionNotifications": [told],
            }
        ],
        "results": [],
    }
    return _log(run)


def _log(run: dict[str, object]) -> dict[str, object]:
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _driver(rules: list[dict[str, object]]) -> dict[str, object]:
    return {
        "name": "vvbuild",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": rules,
    }


def _rule(finding: Finding) -> dict[str, object]:
    rule: dict[str, object] = {
        "id": finding.rule,
        "name": "".join(word.capitalize() for word in finding.rule.split("-")),
        "shortDescription": {"text": _demand(finding.rule)},
        "fullDescription": {"text": clean(f"{finding.why} ({finding.source})")},
        "help": {"text": clean(finding.fix)},
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
    }
    address = source_address(finding.source)
    if address is not None:
        rule["helpUri"] = address
    return rule


def _demand(name: str) -> str:
    """The sentence that a rule demands."""
    rule = RULES.get(name)
    return rule.demand if rule is not None else name


def _result(group: Group, rules: Sequence[str]) -> dict[str, object]:
    finding = group.finding
    where = f" [{group.where}]" if group.where else ""
    result: dict[str, object] = {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": clean(f"{finding.message}{where}")},
        "locations": [{"physicalLocation": _place(group)}],
        "partialFingerprints": {"vvbuild/v1": _fingerprint(group)},
        "properties": {
            "concerns": list(_concerns(group)),
            "evidence": {clean(key): clean(value) for key, value in finding.evidence.items()},
        },
    }
    if finding.waived is not None:
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": clean(finding.waived)}
        ]
    return result


def _concerns(group: Group) -> Iterator[dict[str, object]]:
    """The releases and their targets; a bundle that is judged has no release."""
    for release, targets in group.targets.items():
        named: dict[str, object] = {"release": clean(release)} if release else {}
        yield named | {"targets": list(map(clean, targets))}


def _place(group: Group) -> dict[str, object]:
    """A file with its line; the root of a bundle that lacks something as a whole.

    Code scanning refuses a log that has a result without a place.
    """
    # A name may hold bytes that are no text; they are told as everywhere else.
    uri = quote(group.file, safe="/", errors="backslashreplace") if group.file else "./"
    place: dict[str, object] = {"artifactLocation": {"uri": uri}}
    return place if group.line is None else place | {"region": {"startLine": group.line}}


def _lines(*texts: str) -> str:
    return "\n".join(line for text in texts if text for line in clean_lines(text))


def _fingerprint(group: Group) -> str:
    """The same finding keeps its name when lines move and when releases inherit its pin."""
    place = (group.file,) if group.file is not None else tuple(group.targets)
    parts = (group.finding.rule, group.finding.message, *place)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()
