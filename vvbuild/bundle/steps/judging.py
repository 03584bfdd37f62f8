"""The step that judges a bundle before it is packed."""

from __future__ import annotations

from vvbuild.bundle.inputs import BundleInputs
from vvbuild.errors import FindingsError
from vvbuild.model.finding import worst
from vvbuild.pipeline.step import Facts, PlanBuilder, StepContext
from vvbuild.verify.report import finding_as_json
from vvbuild.verify.run import verify_directory


def add_verify(builder: PlanBuilder, inputs: BundleInputs, bundle: str) -> str:
    """Judge the bundle's bytes; an error stops the build."""

    def run(context: StepContext) -> Facts:
        directory = context.tree(bundle) / "bundle"
        findings = verify_directory(directory, target=inputs.target, cancel=context.cancel)
        rows = [finding_as_json(finding) for finding in findings]
        if worst(findings) == "error":
            summary = "\n".join(
                f"{each.rule}: {each.path}: {each.message}"
                if each.path
                else f"{each.rule}: {each.message}"
                for each in findings
            )
            raise FindingsError(
                "The bundle has faults and was not packed.",
                context={"bundle": directory, "findings": summary},
                hint=f"Look at it there: `vvbuild verify {directory}`.",
            )
        return {"findings": rows}

    return builder.add(
        "verify",
        run,
        inputs=(bundle,),
        parameters={"target": str(inputs.target)},
        code=("vvbuild.verify.facts", "vvbuild.rules.bundle"),
        why="rules over the bundle's bytes",
    )
