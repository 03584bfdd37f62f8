"""``bundle``: from a release to archives in a directory."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from vvbuild.bundle.inputs import BundleInputs, gather_inputs
from vvbuild.bundle.plan import plan_bundle
from vvbuild.bundle.publish import Published, claim_directory, publish
from vvbuild.bundle.terms import Acceptance
from vvbuild.bundle.ways import Fetcher
from vvbuild.fetch.session import Session
from vvbuild.fetch.store import Store
from vvbuild.locking.means import Means
from vvbuild.locking.trust import trust_unlocked
from vvbuild.manifest.choose import Chosen
from vvbuild.model.artifact import Artifact
from vvbuild.model.events import Emit, silent
from vvbuild.model.finding import Finding
from vvbuild.model.release import ArchiveKind
from vvbuild.pipeline.runner import Runner, RunResult, StepResult, missing_steps
from vvbuild.pipeline.step import Plan
from vvbuild.runtime.cancel import Cancel
from vvbuild.verify.report import finding_from_json


@dataclass(frozen=True, slots=True)
class BundleResult:
    """What a bundle run did and left."""

    inputs: BundleInputs
    steps: tuple[StepResult, ...]
    archives: tuple[Published, ...]
    findings: tuple[Finding, ...]
    out: Path
    seconds: float


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """What ``plan`` tells of a step. ``download`` is in bytes and 0 for what is there."""

    name: str
    key: str
    state: str
    why: str
    download: int


@dataclass(frozen=True, slots=True)
class PlanResult:
    """A plan, what of it is in the store, and what it will cost."""

    inputs: BundleInputs
    steps: tuple[PlannedStep, ...]
    download: int
    disk: int


@dataclass(frozen=True, slots=True)
class BundleOptions:
    """What the user chose."""

    release: Chosen
    target: str
    python: Path | None = None
    kinds: tuple[ArchiveKind, ...] | None = None
    offline: bool = False
    jobs: int = 2
    allow_unlocked: bool = False
    fetcher: Fetcher = "auto"
    accepts: Acceptance = field(default_factory=Acceptance)


def all_artifacts(inputs: BundleInputs) -> tuple[Artifact, ...]:
    """Everything that is fetched for a bundle: its artifacts, then the tools."""
    tools = tuple(tool.artifact for tool in inputs.tools.values())
    return inputs.lock.for_target(inputs.target) + tools


def make_bundle(
    options: BundleOptions, out: Path, *, store: Store, emit: Emit, cancel: Cancel
) -> BundleResult:
    """Build a bundle and put its archives into ``out``; done steps are not done again.

    Raises typed errors; whatever was finished stays in the store and the next run carries on.
    """
    started = time.monotonic()
    store.prepare()
    with Session(offline=options.offline, cancel=cancel) as session:
        inputs = _gather(options, store, Means(session, emit, cancel))
        claim_directory(out)
        plan = plan_bundle(inputs, session)
        result = Runner(store, emit=emit, cancel=cancel, jobs=options.jobs).run(plan)
    archives = publish(
        (made for name, made in result.made.items() if name.startswith("archive ")),
        store,
        out,
        cancel,
    )
    seconds = round(time.monotonic() - started, 3)
    return BundleResult(inputs, result.steps, tuple(archives), _findings(result), out, seconds)


def plan_only(
    options: BundleOptions, *, store: Store, emit: Emit = silent, cancel: Cancel | None = None
) -> PlanResult:
    """Say what :func:`make_bundle` would do; runs nothing and fetches nothing.

    Only with ``allow_unlocked`` servers are asked, for what the lock does not say.
    """
    store.prepare()
    cancel = Cancel() if cancel is None else cancel
    with Session(offline=not options.allow_unlocked, cancel=cancel) as session:
        inputs = _gather(options, store, Means(session, emit, cancel))
        plan = plan_bundle(inputs, session)
    made, to_run = missing_steps(plan, store)
    steps = tuple(
        PlannedStep(
            step.name,
            step.key.hex,
            "to do" if step.name in to_run else "cached" if step.name in made else "not needed",
            step.why,
            _missing_bytes(plan, step.name, to_run, store, inputs),
        )
        for step in plan.steps
    )
    download = sum(step.download for step in steps)
    return PlanResult(inputs, steps, download, _disk_estimate(download, to_run))


def _gather(options: BundleOptions, store: Store, means: Means) -> BundleInputs:
    return gather_inputs(
        release=options.release,
        target=options.target,
        store=store,
        python=options.python,
        kinds=options.kinds,
        trust=(lambda loaded, target: trust_unlocked(loaded, target, means))
        if options.allow_unlocked
        else None,
        fetcher=options.fetcher,
        accepts=options.accepts,
    )


def _missing_bytes(
    plan: Plan, name: str, to_run: set[str], store: Store, inputs: BundleInputs
) -> int:
    step = plan.step(name)
    if name not in to_run or not step.download:
        return 0
    for artifact in all_artifacts(inputs):
        if artifact.sha256.hex == step.parameters.get("sha256"):
            return 0 if store.has_file(artifact.sha256, artifact.size) else step.download
    return step.download


def _disk_estimate(download: int, to_run: set[str]) -> int:
    """Bytes that the store will grow by: downloads, what they unpack to, and the bundle."""
    # Measured on the sample: wheels unpack to about four times their size (zig 4.1, ONNX
    # Runtime 3.5); environment, bundle and archives together take about 300 MB.
    return download * 5 + (300 << 20 if "freeze" in to_run else 0)


def _findings(result: RunResult) -> tuple[Finding, ...]:
    """Those of the bundle, and what only its archives show."""
    found: list[Finding] = []
    for name, made in result.made.items():
        rows = made.facts.get("findings") if name.startswith("verify") else None
        read = [finding_from_json(row) for row in rows] if isinstance(rows, list) else []
        found += [each for each in read if each not in found]
    return tuple(found)
