"""The steps that judge a bundle before it is packed, and every archive after."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

from vvbuild.bundle.inputs import BundleInputs
from vvbuild.errors import FindingsError
from vvbuild.model.finding import Finding, worst
from vvbuild.model.release import ArchiveKind
from vvbuild.pipeline.artifacts import tool_path
from vvbuild.pipeline.step import Facts, PlanBuilder, StepContext
from vvbuild.verify.report import finding_as_json
from vvbuild.verify.run import Question, no_seven_zip, verify_path
from vvbuild.verify.waived import of_release

_CODE = ("vvbuild.verify.run", "vvbuild.rules.bundle")


def add_verify(builder: PlanBuilder, inputs: BundleInputs, bundle: str) -> str:
    """Judge the bundle's bytes; an error stops the build."""

    def run(context: StepContext) -> Facts:
        directory = context.tree(bundle) / "bundle"
        question = _question(inputs, context.work)
        verdict = verify_path(directory, question, cancel=context.cancel)
        _stop_at_errors("The bundle has faults and was not packed.", directory, verdict.findings)
        return {"findings": [finding_as_json(finding) for finding in verdict.findings]}

    return builder.add(
        "verify",
        run,
        inputs=(bundle,),
        parameters=_parameters(inputs),
        code=_CODE,
        why="rules over the bundle's bytes",
    )


def add_verify_archive(
    builder: PlanBuilder,
    inputs: BundleInputs,
    kind: ArchiveKind,
    archive: str,
    tools: Mapping[str, str],
) -> str:
    """Judge an archive as whoever downloads it gets it: its modes, links, parts and list."""
    needed = (tools["7zip"],) if kind == "7z" else ()

    def run(context: StepContext) -> Facts:
        directory = context.tree(archive)
        first = _first_part(directory, kind)
        program = tool_path(context, *needed, inputs.tools["7zip"]) if needed else None
        verdict = verify_path(
            first,
            _question(inputs, context.work),
            cancel=context.cancel,
            seven_zip=(lambda: program) if program is not None else no_seven_zip,
        )
        _stop_at_errors("The archive has faults and was not published.", first, verdict.findings)
        return {"findings": [finding_as_json(finding) for finding in verdict.findings]}

    return builder.add(
        f"verify {kind}",
        run,
        inputs=(archive, *needed),
        parameters=_parameters(inputs),
        code=_CODE,
        why="rules over the finished archive",
    )


def _first_part(directory: Path, kind: ArchiveKind) -> Path:
    """The archive, or the first of its parts; its list is a text file."""
    return min(path for path in directory.iterdir() if path.suffix != ".txt" and kind in path.name)


def _question(inputs: BundleInputs, work: Path) -> Question:
    return Question(
        today=datetime.now(timezone.utc).date(),
        target=inputs.target,
        expected={"engine": inputs.release.row.engine.version},
        release=inputs.release.row,
        scratch=work,
    )


def _parameters(inputs: BundleInputs) -> dict[str, object]:
    """What decides the verdict beside the bytes: a waiver that is over makes the step new."""
    today = datetime.now(timezone.utc).date()
    waivers = [
        [each.rule, each.reason, each.until is None or each.until >= today]
        for each in of_release(inputs.release.row, inputs.target)
    ]
    return {"target": str(inputs.target), "waivers": waivers}


def _stop_at_errors(what: str, where: Path, findings: tuple[Finding, ...]) -> None:
    if worst(findings) != "error":
        return
    summary = "\n".join(
        f"{each.rule}: {each.path}: {each.message}" if each.path else f"{each.rule}: {each.message}"
        for each in findings
        if each.severity == "error" and each.waived is None
    )
    raise FindingsError(
        what,
        context={"kept for a look": where, "findings": summary},
        hint=f"`vvbuild verify {where}` says why each is one, and how to mend it.",
    )
