"""Rules over waivers: a permission that is over, or that nothing needs."""

from __future__ import annotations

from collections.abc import Iterator

from vvbuild.rules.pin_evidence import WaiverEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(WaiverEvidence)


@rule(
    "waiver-expired",
    "warning",
    why="A waiver with an end was meant to be looked at again; past it, its finding counts.",
    source="vvbuild, docs/reference/manifest.md",
    fix="Mend what it waives, or write a new end with the reason.",
)
def waiver_expired(evidence: WaiverEvidence) -> Iterator[Found]:
    """No waiver is past its end."""
    for each in evidence.waivers:
        if each.expired:
            yield Found(
                f"the waiver of {each.rule} ended on {each.until}",
                each.key,
                {"targets": ", ".join(each.targets), "reason": each.reason},
            )


@rule(
    "waiver-unused",
    "warning",
    why="A waiver that nothing needs would hide the next finding of its rule.",
    source="vvbuild, docs/reference/manifest.md",
    fix="Remove it.",
)
def waiver_unused(evidence: WaiverEvidence) -> Iterator[Found]:
    """Every waiver waives something."""
    for each in evidence.waivers:
        if evidence.complete and not (each.used or each.expired or each.unknown):
            yield Found(
                f"the waiver of {each.rule} for {', '.join(each.targets)} waives nothing",
                each.key,
                {"targets": ", ".join(each.targets), "reason": each.reason},
            )


@rule(
    "waiver-unknown",
    "error",
    why="A waiver of a rule that there is not waives nothing, and a slip of the hand hides that.",
    source="vvbuild, docs/reference/rules.md",
    fix="Write the rule's name as `check` and `verify` print it.",
)
def waiver_unknown(evidence: WaiverEvidence) -> Iterator[Found]:
    """Every waiver names a rule that there is."""
    for each in evidence.waivers:
        if each.unknown:
            yield Found(
                each.unknown,
                each.key,
                {"targets": ", ".join(each.targets), "reason": each.reason},
            )
