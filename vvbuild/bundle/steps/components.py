"""Steps that bring a component: by vvbuild itself, or by the core's own downloader.

Both ways must leave the same tree, so which one it was is no part of a step's key.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field

from vvbuild.bundle.merge import merge
from vvbuild.fetch.downloader import (
    Consent,
    DownloadRequest,
    Program,
    Surroundings,
    run_downloader,
    wanted_parts,
)
from vvbuild.fetch.indexes import github_token
from vvbuild.fetch.parallel import fetch_all
from vvbuild.fetch.session import Session
from vvbuild.fetch.store import copy_file
from vvbuild.fetch.unpack import unpack
from vvbuild.manifest.downloader import core_words
from vvbuild.model.artifact import Artifact
from vvbuild.model.downloader import Contract
from vvbuild.model.target import Target
from vvbuild.pipeline.step import Facts, PlanBuilder, StepContext


@dataclass(frozen=True, slots=True)
class Downloader:
    """The core's downloader for this host, and all that it is asked for one target.

    ``artifacts`` are those of every component that it could bring: it is told of all of them.
    """

    program: Artifact
    contract: Contract
    target: Target
    artifacts: tuple[Artifact, ...]
    models_pattern: str | None = None
    consent: Consent = field(default_factory=Consent)


def add_component(
    builder: PlanBuilder,
    component: str,
    artifacts: Sequence[Artifact],
    session: Session,
    downloader: Downloader | None = None,
) -> str:
    """Bring all files of a component as one tree; ``downloader`` is asked where it is given."""

    def run(context: StepContext) -> Facts:
        if downloader is None:
            _bring(artifacts, session, context)
        else:
            _let_bring(component, downloader, session, context)
        return {}

    versions = ", ".join(dict.fromkeys(artifact.version for artifact in artifacts))
    return builder.add(
        f"component {component}",
        run,
        parameters={"artifacts": [_as_json(artifact) for artifact in artifacts]},
        code=("vvbuild.fetch.unpack", "vvbuild.bundle.merge"),
        why=f"{component} {versions}",
        download=sum(artifact.limit for artifact in artifacts),
    )


def _as_json(artifact: Artifact) -> list[str]:
    """What decides where an artifact's bytes come to lie."""
    return [artifact.sha256.hex, artifact.into, artifact.unpack, artifact.references[0].file]


def _bring(artifacts: Sequence[Artifact], session: Session, context: StepContext) -> None:
    files = fetch_all(
        artifacts, context.store, session=session, emit=context.emit, cancel=context.cancel
    )
    for number, artifact in enumerate(artifacts):
        archive = files[artifact.sha256]
        # The store is only believed after its file was read; unpacking reads it as well.
        context.store.verified_file(artifact.sha256)
        room = context.work / str(number)
        if artifact.unpack == "no":
            room.mkdir()
            copy_file(archive, room / artifact.references[0].file)
        else:
            strip = artifact.unpack == "strip-top"
            unpack(archive, room, strip=strip, cancel=context.cancel)
        merge(room, context.out / artifact.into, artifact.name)


def _let_bring(
    component: str, downloader: Downloader, session: Session, context: StepContext
) -> None:
    program = downloader.program
    files = fetch_all(
        [program], context.store, session=session, emit=context.emit, cancel=context.cancel
    )
    request = DownloadRequest(
        target=downloader.target,
        words=core_words(downloader.target),
        parts=wanted_parts(downloader.artifacts),
        only=frozenset({component}),
        models_pattern=downloader.models_pattern,
    )
    delivered = run_downloader(
        Program(files[program.sha256], downloader.contract, program.sha256),
        request,
        context.work,
        cancel=context.cancel,
        emit=context.emit,
        consent=downloader.consent,
        around=Surroundings(token=github_token(os.environ)),
    )
    context.out.rmdir()
    shutil.move(delivered[component].directory, context.out)
