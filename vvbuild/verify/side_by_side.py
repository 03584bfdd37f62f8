"""What only shows where bundles lie side by side."""

from __future__ import annotations

from collections.abc import Iterable

from vvbuild.model.finding import Finding
from vvbuild.rules.bundle_set import BundleSetEvidence
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import judge


def judge_together(bundles: Iterable[tuple[str, BundleEvidence]]) -> tuple[Finding, ...]:
    """The findings of rules over several bundles, each under its name."""
    named = dict(bundles)
    return judge(BundleSetEvidence(named)) if len(named) > 1 else ()
