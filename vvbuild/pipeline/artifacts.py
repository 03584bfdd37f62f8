"""Steps that bring artifacts and tools into the store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vvbuild.fetch.parallel import fetch_all
from vvbuild.fetch.session import Session
from vvbuild.fetch.store import copy_file
from vvbuild.fetch.unpack import unpack
from vvbuild.manifest.tools import Tool
from vvbuild.model.artifact import Artifact
from vvbuild.pipeline.step import Facts, PlanBuilder, StepContext


def short_name(artifact: Artifact) -> str:
    """What people call an artifact: its project, else its file."""
    return artifact.references[0].project.rsplit("/", 1)[-1] or artifact.name


def add_fetch(builder: PlanBuilder, artifact: Artifact, session: Session) -> str:
    """Fetch one artifact; the same bytes are never fetched twice."""

    def run(context: StepContext) -> Facts:
        store = context.store
        fetch_all([artifact], store, session=session, emit=context.emit, cancel=context.cancel)
        copy_file(store.verified_file(artifact.sha256), context.out / artifact.name)
        return {}

    name = f"fetch {short_name(artifact)}"
    if name in builder.steps:
        name = f"fetch {artifact.name}"
    return builder.add(
        name,
        run,
        parameters={"name": artifact.name, "sha256": artifact.sha256.hex},
        why=f"{artifact.component} {artifact.version}",
        download=artifact.limit,
    )


def add_unpack(
    builder: PlanBuilder,
    artifact: Artifact,
    fetched: str,
    *,
    executables: Sequence[str] = (),
) -> str:
    """Unpack a fetched archive into the store."""

    def run(context: StepContext) -> Facts:
        archive = context.tree(fetched) / artifact.name
        unpack(archive, context.out, executables=executables, cancel=context.cancel)
        return {}

    return builder.add(
        fetched.replace("fetch ", "unpack ", 1),
        run,
        inputs=(fetched,),
        parameters={"executables": list(executables)},
        code=("vvbuild.fetch.unpack",),
        why=f"{artifact.component} {artifact.version}",
    )


def add_tool(builder: PlanBuilder, tool: Tool, session: Session) -> str:
    """Bring a program that vvbuild runs."""
    fetched = add_fetch(builder, tool.artifact, session)
    return add_unpack(builder, tool.artifact, fetched, executables=(tool.member,))


def tool_path(context: StepContext, step: str, tool: Tool) -> Path:
    """Where the program lies once its step is done."""
    return context.tree(step) / tool.member
