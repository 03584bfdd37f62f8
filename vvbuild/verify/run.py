"""``verify``: rules over the bytes of a directory or an archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from vvbuild.errors import HostToolMissingError
from vvbuild.model.finding import Finding
from vvbuild.model.release import Release
from vvbuild.model.target import Target
from vvbuild.rules import bundle as _bundle_rules  # noqa: F401 - registers its rules
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import judge
from vvbuild.runtime.cancel import Cancel
from vvbuild.verify.facts import gather_facts
from vvbuild.verify.opened import FindSevenZip, opened
from vvbuild.verify.side_by_side import judge_together
from vvbuild.verify.waived import Permission, of_release, recorded, waive


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was looked at, and what the rules say."""

    path: Path
    target: Target | None
    files: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a bundle beside the rules.

    ``expected`` maps components to versions. The waivers of ``release`` count beside those that
    vvbuild.json records; ``today`` decides which of them are over. ``scratch`` is where archives
    are unpacked, by default the system's folder for that.
    """

    today: date
    target: Target | None = None
    expected: Mapping[str, str] | None = None
    release: Release | None = None
    scratch: Path | None = None


def no_seven_zip() -> Path:
    """For callers that have none. Raises :class:`HostToolMissingError`."""
    raise HostToolMissingError(
        "There is no 7-Zip to read this archive with.",
        hint="Unpack it with `7zz x -snld`, and name the directory.",
    )


def verify_path(
    path: Path, question: Question, *, cancel: Cancel, seven_zip: FindSevenZip = no_seven_zip
) -> Verdict:
    """Judge a directory, a ``.vvpp``, one of several parts, a ``.7z`` or a tar.

    Raises :class:`UsageError` for a path that is none, and what unpacking raises.
    """
    verdict, _ = _verify(path, question, cancel, seven_zip)
    return verdict


def verify_paths(
    paths: Sequence[Path],
    question: Question,
    *,
    cancel: Cancel,
    seven_zip: FindSevenZip = no_seven_zip,
) -> tuple[Verdict, ...]:
    """Judge several bundles, and what only shows where they lie side by side."""
    pairs = [_verify(path, question, cancel, seven_zip) for path in paths]
    verdicts = [verdict for verdict, _ in pairs]
    alone = len({path.name for path in paths}) == len(paths)
    found = judge_together(
        [(path.name if alone else str(path), evidence)
         for path, (_, evidence) in zip(paths, pairs, strict=True)]
    )  # fmt: skip
    if found:
        first = verdicts[0]
        waivers = _waivers_of(question.release, first.target)
        findings = (*first.findings, *waive(found, waivers, question.today))
        verdicts[0] = Verdict(first.path, first.target, first.files, findings)
    return tuple(verdicts)


def _verify(
    path: Path, question: Question, cancel: Cancel, seven_zip: FindSevenZip
) -> tuple[Verdict, BundleEvidence]:
    with opened(path, cancel=cancel, seven_zip=seven_zip, scratch=question.scratch) as bundle:
        evidence = gather_facts(
            bundle.directory,
            question.target,
            cancel,
            members=bundle.members,
            expected=question.expected,
            packed=bundle.packed,
            named=bundle.named,
        )
    waivers = [*_waivers_of(question.release, evidence.target), *recorded(evidence)]
    findings = waive(judge(evidence), waivers, question.today)
    return Verdict(path, evidence.target, len(evidence.files), findings), evidence


def _waivers_of(release: Release | None, target: Target | None) -> tuple[Permission, ...]:
    return of_release(release, target) if release is not None and target is not None else ()
