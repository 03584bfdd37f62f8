"""The registry of rules."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.rules.bundle.good import bundle, file, found, link, only
from vvbuild.rules.evidence import BundleEvidence, JsonFile
from vvbuild.rules.registry import RULES, Family, rules_over

# The registry


def test_findings_say_all_that_their_rule_says() -> None:
    finding = only(bundle(without="run"), "program-missing")
    about = RULES["program-missing"].about

    assert (finding.why, finding.source, finding.fix) == (about.why, about.source, about.fix)
    assert finding.target == "linux-x64-cpu"


def test_errors_stand_first_then_rules_then_paths() -> None:
    evidence = bundle(link("z", "/x"), link("b", "/y/x"), file("a.so"))
    evidence = dataclasses.replace(evidence, description=JsonFile())

    assert found(evidence) == [
        ("binary-malformed", "a.so"), ("link-escapes", "b"), ("link-escapes", "z"),
        ("description-missing", "vvbuild.json"),
    ]  # fmt: skip


@pytest.mark.parametrize("known", rules_over(BundleEvidence), ids=lambda known: known.name)
def test_a_rule_explains_itself(known) -> None:
    assert known.name == known.name.lower().replace("_", "-")
    assert known.about.why.endswith(".")
    assert known.about.fix.endswith(".")
    assert known.about.source
    assert all(check.__doc__ for check in known.checks.values())


def test_two_rules_of_one_name_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="two rules are called 'ort-name'"):
        Family(BundleEvidence)("ort-name", "error", why="", source="", fix="")(
            lambda evidence: iter(())
        )


def test_every_rule_is_seen_to_stop_something() -> None:
    """The name of each stands in a test of its family."""
    text = "".join(each.read_text("utf-8") for each in Path(__file__).parent.glob("bundle/test_*"))

    assert [r.name for r in rules_over(BundleEvidence) if f'"{r.name}"' not in text] == []
