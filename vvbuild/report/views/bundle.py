"""Views of a bundle's plan and of its making."""

from __future__ import annotations

from vvbuild.bundle.inputs import BundleInputs
from vvbuild.bundle.run import BundleResult, PlanResult, all_artifacts
from vvbuild.model.size import ByteSize
from vvbuild.report.document import Block, Line, Reported, Table, View
from vvbuild.report.views.findings import finding_blocks
from vvbuild.verify.report import finding_as_json


def bundle_view(result: BundleResult) -> View:
    """What was built, and where it lies."""
    data: dict[str, object] = {
        "release": result.inputs.release.name,
        "release_why": result.inputs.release_why,
        "target": str(result.inputs.target),
        "python": result.inputs.python.version,
        "seconds": result.seconds,
        "steps": [
            {
                "name": step.name,
                "key": step.key.hex,
                "cached": step.cached,
                "seconds": step.seconds,
            }
            for step in result.steps
        ],
        "artifacts": _artifacts(result.inputs),
        "archives": [
            {"path": str(file.path), "size": file.size, "sha256": file.sha256.hex}
            for file in result.archives
        ],
        "findings": [finding_as_json(finding) for finding in result.findings],
    }
    worked = sum(not step.cached for step in result.steps)
    rows = tuple(
        (file.path.name, str(ByteSize(file.size)), file.sha256.hex) for file in result.archives
    )
    blocks: list[Block] = [
        *finding_blocks(result.findings),
        Table(("file", "size", "SHA-256"), rows, right=(1,), shrink=2),
        Line(""),
        Line(
            f"{result.inputs.release.name} ({result.inputs.release_why}) "
            f"for {result.inputs.target}: "
            f"{worked} of {len(result.steps)} steps done anew in {result.seconds:.1f} s; "
            f"the archives and SHA256SUMS are in {result.out}",
            "good",
        ),
    ]
    found = tuple(Reported(finding, file=finding.path) for finding in result.findings)
    return View(data, tuple(blocks), findings=found)


def plan_view(result: PlanResult) -> View:
    """What would be done, and what it costs."""
    data: dict[str, object] = {
        "release": result.inputs.release.name,
        "release_why": result.inputs.release_why,
        "target": str(result.inputs.target),
        "python": result.inputs.python.version,
        "steps": [
            {
                "name": step.name,
                "key": step.key,
                "cached": step.state != "to do",
                "state": step.state,
                "why": step.why,
                "download": step.download,
            }
            for step in result.steps
        ],
        "artifacts": _artifacts(result.inputs),
        "download_bytes": result.download,
        "disk_bytes": result.disk,
    }
    rows = tuple(
        (
            step.name,
            step.state,
            str(ByteSize(step.download)) if step.download else "",
            step.why,
        )
        for step in result.steps
    )
    what = f"{result.inputs.release.name} ({result.inputs.release_why}): "
    todo = sum(step.state == "to do" for step in result.steps)
    summary = (
        f"{todo} of {len(rows)} steps to do; to fetch: {ByteSize(result.download)} and the "
        f"engine's Python packages; disk: about {ByteSize(result.disk)}"
        if todo
        else "Nothing to do: every step is in the store."
    )
    table = Table(("step", "state", "fetch", "what"), rows, right=(2,), shrink=3)
    return View(data, (table, Line(""), Line(what + summary)))


def _artifacts(inputs: BundleInputs) -> list[dict[str, object]]:
    return [
        {
            "name": item.name,
            "component": item.component,
            "size": item.size,
            "sha256": item.sha256.hex,
        }
        for item in all_artifacts(inputs)
    ]
