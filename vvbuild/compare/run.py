"""``diff``: what differs from one release to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date

from vvbuild.check.run import check
from vvbuild.compare.differences import Comparison
from vvbuild.compare.files import file_changes, files_of
from vvbuild.compare.manifests import (
    job_changes,
    pin_changes,
    setting_changes,
    target_changes,
    waivers_of,
)
from vvbuild.manifest.release import LoadedRelease
from vvbuild.manifest.targets import official_targets
from vvbuild.model.finding import Finding


def compare(before: LoadedRelease, after: LoadedRelease, *, today: date) -> Comparison:
    """Manifests, locks and findings side by side; findings are those that count ``today``."""
    common = tuple(
        each for each in official_targets() if each in before.targets and each in after.targets
    )
    old_files, old_problem = files_of(before)
    new_files, new_problem = files_of(after)
    old, new = (check([each], today=today).findings for each in (before, after))
    old_waivers, new_waivers = waivers_of(before.row), waivers_of(after.row)
    problems = ((before.name, old_problem), (after.name, new_problem))
    return Comparison(
        before=before.name,
        after=after.name,
        common=common,
        targets=tuple(target_changes(before, after)),
        settings=tuple(setting_changes(before.row, after.row)),
        pins=tuple(pin_changes(before.row, after.row, common)),
        jobs=tuple(job_changes(before, after, common)),
        waivers_gone=tuple((old_waivers - new_waivers).elements()),
        waivers_new=tuple((new_waivers - old_waivers).elements()),
        files=file_changes(old_files, new_files, common),
        findings_gone=_without(old, new),
        findings_new=_without(new, old),
        problems=tuple((name, problem) for name, problem in problems if problem is not None),
    )


def _without(findings: Sequence[Finding], others: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings that the other side does not have; where they stand does not count."""
    left = Counter(map(_identity, others))
    kept = []
    for each in findings:
        if left[_identity(each)]:
            left[_identity(each)] -= 1
        else:
            kept.append(each)
    return tuple(kept)


def _identity(finding: Finding) -> tuple[str, str | None, str, bool]:
    return finding.rule, finding.target, finding.message, finding.waived is not None
