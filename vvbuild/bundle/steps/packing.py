"""Steps that pack a bundle."""

from __future__ import annotations

from collections.abc import Mapping

from vvbuild.bundle.archive.write import write_archives
from vvbuild.bundle.inputs import BundleInputs
from vvbuild.model.release import ArchiveKind
from vvbuild.model.size import ByteSize
from vvbuild.pipeline.artifacts import tool_path
from vvbuild.pipeline.step import Facts, PlanBuilder, StepContext


def add_archive(
    builder: PlanBuilder,
    inputs: BundleInputs,
    kind: ArchiveKind,
    bundle: str,
    verified: str,
    tools: Mapping[str, str],
) -> str:
    """Pack the verified bundle in one format, with its list file."""
    row = inputs.release.row.archives
    level = row.zip_level if kind == "vvpp" else row.seven_zip_level
    volume_size = ByteSize.parse(row.volume_size)
    needed = (tools["7zip"],) if kind == "7z" else ()

    def run(context: StepContext) -> Facts:
        files = write_archives(
            context.tree(bundle) / "bundle",
            context.out,
            stem=inputs.stem,
            top=inputs.top,
            kinds=[kind],
            level=level,
            volume_size=volume_size,
            epoch=inputs.release.epoch,
            seven_zip=tool_path(context, *needed, inputs.tools["7zip"]) if needed else None,
            work=context.work,
            emit=context.emit,
            cancel=context.cancel,
        )
        return {"archives": [file.path.name for file in files]}

    return builder.add(
        f"archive {kind}",
        run,
        inputs=(bundle, verified, *needed),
        parameters={
            "stem": inputs.stem,
            "top": inputs.top,
            "level": level,
            "volume_size": volume_size,
            "epoch": inputs.release.epoch,
        },
        code=("vvbuild.bundle.archive.write",),
        why=f"{inputs.stem}.{kind}",
    )
