"""Waivers over findings of bytes: shown, never silent, and over when their day is."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from tests.rules.bundle.good import bundle as facts
from tests.verify.conftest import describe
from tests.verify.test_verify import TODAY, judged
from vvbuild.manifest.release import find_release
from vvbuild.model.finding import worst
from vvbuild.model.release import Release, Waiver
from vvbuild.verify.waived import recorded

RULE = "zero-byte-data"


def spoiled(bundle: Path, waivers: object) -> Path:
    """A bundle with an empty file, and these waivers in its vvbuild.json."""
    (bundle / "empty.txt").write_bytes(b"")
    describe(bundle)
    path = bundle / "vvbuild.json"
    about = json.loads(path.read_bytes())
    about["overrides"] = {"waivers": waivers}
    path.write_text(json.dumps(about))
    return bundle


def row(rule: str = RULE, until: object = None, reason: object = "known") -> dict[str, object]:
    return {"rule": rule, "reason": reason, "until": until}


def release(*waivers: Waiver) -> Release:
    import msgspec

    return msgspec.structs.replace(find_release("sample").row, waivers=list(waivers))


def test_a_waiver_that_the_bundle_records_is_shown_with_its_reason(bundle: Path) -> None:
    verdict = judged(spoiled(bundle, [row()]))

    assert [(each.rule, each.waived) for each in verdict.findings] == [(RULE, "known")]
    assert worst(verdict.findings) is None


def test_a_waiver_of_the_release_counts_for_its_targets(bundle: Path) -> None:
    spoiled(bundle, [])
    waiver = Waiver(rule=RULE, targets=["linux-*"], reason="soon")
    other = Waiver(rule=RULE, targets=["win-*"], reason="soon")

    assert [each.waived for each in judged(bundle, release=release(waiver)).findings] == ["soon"]
    assert [each.waived for each in judged(bundle, release=release(other)).findings] == [None]


@pytest.mark.parametrize(("until", "counts"), [("2026-01-01", True), ("2025-12-31", False)])
def test_a_waiver_counts_up_to_its_last_day(bundle: Path, until: str, counts: bool) -> None:
    verdict = judged(spoiled(bundle, [row(until=until)]))

    rules = [(each.rule, each.waived) for each in verdict.findings]
    if counts:
        assert rules == [(RULE, "known")]
    else:
        assert rules == [(RULE, None), ("waiver-expired", None)]
        assert "in vvbuild.json ended on 2025-12-31" in verdict.findings[1].message


def test_a_waiver_of_another_rule_does_nothing(bundle: Path) -> None:
    verdict = judged(spoiled(bundle, [row("file-extra")]))

    assert [(each.rule, each.waived) for each in verdict.findings] == [(RULE, None)]


@pytest.mark.parametrize(
    "waivers",
    [
        None, 3, {}, [None], [{}], [row(reason=None)], [row(reason=" ")], [row(until=3)],
        [row(until="soon")], [{"rule": [], "reason": {}}],
    ],
    ids=str,
)  # fmt: skip
def test_a_record_of_any_other_shape_waives_nothing(bundle: Path, waivers: object) -> None:
    verdict = judged(spoiled(bundle, waivers))

    assert [(each.rule, each.waived) for each in verdict.findings] == [(RULE, None)]


def test_recorded_waivers_keep_what_they_say() -> None:
    evidence = facts(overrides={"waivers": [row(until="2026-02-01")]})

    (permission,) = recorded(evidence)
    assert (permission.rule, permission.until) == (RULE, date(2026, 2, 1))
    assert permission.until > TODAY
