"""A rule: what it demands, why, and where it speaks up today."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from datetime import date

from vvbuild import rules
from vvbuild.check.run import check
from vvbuild.explain.examples import counterexample, newest_releases
from vvbuild.explain.explanation import Explanation, Fact, Place
from vvbuild.explain.pinned import all_releases
from vvbuild.rules.bundle_set import BundleSetEvidence
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import RULES, Rule

PAGE = "docs/reference/rules.md"
_LOOKS_AT = {
    "BundleEvidence": "the bytes of a bundle or an archive (`vvbuild verify`, `vvbuild bundle`)",
    "BundleSetEvidence": "several bundles or archives together (`vvbuild verify`)",
    "PinEvidence": "the pins of a release for a target (`vvbuild check`, `vvbuild bundle`)",
    "WaiverEvidence": "the waivers of a release (`vvbuild check`)",
}


def known_rules() -> Mapping[str, Rule]:
    """The rules of every module of ``vvbuild.rules``, by name."""
    for module in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}."):
        importlib.import_module(module.name)
    return {
        name: rule
        for name, rule in RULES.items()
        if any(each.startswith(f"{rules.__name__}.") for each in rule.modules)
    }


def explain_rule(rule: Rule, today: date) -> Explanation:
    """All about a rule; waivers count as they do ``today``."""
    about = rule.about
    facts = [
        Fact("severity", about.severity, about.source),
        Fact("why", about.why, about.source),
        Fact("fix", about.fix, about.source),
        Fact("looks at", _looks_at(rule), about.source),
        Fact("page", f"{PAGE}#{rule.name}", about.source),
    ]
    by_bytes = rule.checks.keys() <= {BundleEvidence, BundleSetEvidence}
    places = () if by_bytes else _places(rule, today)
    facts += [] if by_bytes else _examples(rule, places)
    return Explanation("rule", rule.name, rule.demand, facts=tuple(facts), releases=places)


def _looks_at(rule: Rule) -> str:
    return "; ".join(_LOOKS_AT.get(takes.__name__, takes.__name__) for takes in rule.checks)


def _places(rule: Rule, today: date) -> tuple[Place, ...]:
    """What it finds in the packaged releases: each message once a release."""
    result = check(all_releases(), today=today)
    places = []
    for checked in result.releases:
        messages: dict[tuple[str, str | None, str | None], list[str]] = {}
        for each in checked.findings:
            if each.rule == rule.name:
                key = (each.message, each.waived, each.path)
                messages.setdefault(key, []).append(each.target or "*")
        for (message, waived, path), targets in messages.items():
            every = len(targets) == len(checked.targets) > 1
            places.append(Place(checked.name, message, tuple(targets), every, path, waived))
    return tuple(places)


def _examples(rule: Rule, places: tuple[Place, ...]) -> list[Fact]:
    """A release that is good, and one that is not; if all are good, a change that would not be."""
    bad = {place.release: place.text for place in places}
    names = [each.name for each in newest_releases()]
    good = [name for name in names if name not in bad]
    facts = []
    if bad:
        name = next(name for name in names if name in bad)
        facts.append(
            Fact("bad example", f"`vvbuild check --release {name}`: {bad[name]}", rule.about.source)
        )
    elif (found := counterexample(rule)) is not None:
        facts.append(Fact("bad example", f"`{found.command}`: {found.message}", rule.about.source))
    if good:
        text = f"`vvbuild check --release {good[0]}` finds nothing of it"
        facts.append(Fact("good example", text, rule.about.source))
    return facts
