"""The page of rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vvbuild.model.finding import SEVERITIES
from vvbuild.report.reference.markdown import anchor, code, page, plain, prose, source_link, table
from vvbuild.rules.registry import Rule

_INTRO = (
    "`vvbuild verify` holds the bytes of a bundle against the rules over a bundle, and "
    "`vvbuild bundle` does so before it packs anything. `vvbuild check` holds the pins of a "
    "release against the rules over pins and waivers. A finding of severity error ends with "
    "status 1, unless a waiver of the release accepts it; `bundle` then packs nothing."
)

_OVER = {
    "BundleEvidence": "bundle",
    "BundleSetEvidence": "bundles",
    "PinEvidence": "pins",
    "ProgramEvidence": "program",
    "WaiverEvidence": "waivers",
}


def rules_page(rules: Iterable[Rule]) -> str:
    """Every rule with what it demands, why, and what to do; the gravest first, then by name."""
    ordered = sorted(rules, key=lambda each: (SEVERITIES.index(each.about.severity), each.name))
    overview = table(
        ("rule", "severity", "over", "demands"),
        (
            (
                f"[{code(each.name)}](#{anchor(each.name)})",
                each.about.severity,
                _over(each),
                prose(each.demand),
            )
            for each in ordered
        ),
    )
    sections = (text for each in ordered for text in _section(each))
    return page("Rules", [_INTRO, overview, *sections])


def _section(rule: Rule) -> Iterator[str]:
    yield f"## {rule.name}"
    yield f"**{rule.about.severity}** · {_over(rule)} · {prose(rule.demand)}"
    yield "\n".join(
        (
            f"- Why: {plain(rule.about.why)}",
            f"- Source: {source_link(rule.about.source)}",
            f"- Fix: {plain(rule.about.fix)}",
        )
    )


def _over(rule: Rule) -> str:
    return " and ".join(_OVER[takes.__name__] for takes in rule.checks)
