"""Runs a plan: only what is missing, side by side where it can, and never half."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import msgspec

from vvbuild.errors import CancelledError, VvbuildError, from_os_error
from vvbuild.fetch.store import Store
from vvbuild.model.digest import Digest
from vvbuild.model.events import Emit, StepFinished, StepStarted
from vvbuild.pipeline.step import Made, Plan, Step, StepContext
from vvbuild.runtime.cancel import Cancel


@dataclass(frozen=True, slots=True)
class StepResult:
    """How one step of a plan went. ``seconds`` is the time spent now, 0 when cached."""

    name: str
    key: Digest
    cached: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class RunResult:
    """The steps in the plan's order, and what the goals made."""

    steps: tuple[StepResult, ...]
    made: dict[str, Made]


def remembered(store: Store, step: Step) -> Made | None:
    """What a step made earlier, if all of it is still in the store and untouched."""
    record = store.record(step.key)
    if record is None:
        return None
    digest, facts, seconds = record.get("tree"), record.get("facts"), record.get("seconds")
    if not isinstance(digest, str) or not isinstance(facts, dict):
        return None
    try:
        tree = store.load_tree(Digest(digest))
    except ValueError:
        # A damaged record; the step is done again and writes a new one.
        return None
    if tree is None:
        return None
    return Made(tree, facts, float(seconds) if isinstance(seconds, (int, float)) else 0.0)


def missing_steps(plan: Plan, store: Store) -> tuple[dict[str, Made], set[str]]:
    """Look backwards from the goals: what is remembered, and the steps that must run.

    A step that only feeds remembered ones is in neither: nothing has to be done for it.
    """
    made: dict[str, Made] = {}
    to_run: set[str] = set()
    queue = list(plan.goals)
    while queue:
        step = plan.step(queue.pop())
        if step.name in made or step.name in to_run:
            continue
        found = remembered(store, step)
        if found is not None:
            made[step.name] = found
        else:
            to_run.add(step.name)
            queue.extend(step.inputs)
    return made, to_run


class Runner:
    """Executes plans in a store."""

    def __init__(self, store: Store, *, emit: Emit, cancel: Cancel, jobs: int = 2) -> None:
        self._store = store
        self._emit = emit
        self._cancel = cancel
        self._jobs = max(1, jobs)

    def run(self, plan: Plan) -> RunResult:
        """Run what is missing; raises the first failure after everything else has stopped."""
        made, to_run = missing_steps(plan, self._store)
        results = {
            step.name: StepResult(step.name, step.key, cached=True, seconds=0.0)
            for step in plan.steps
            if step.name not in to_run
        }
        for name in results:
            self._emit(StepFinished(name, cached=True, seconds=0.0))
        results |= self._run_missing(plan, made, to_run)
        ordered = tuple(results[step.name] for step in plan.steps)
        return RunResult(ordered, {name: made[name] for name in plan.goals})

    def _run_missing(
        self, plan: Plan, made: dict[str, Made], to_run: set[str]
    ) -> dict[str, StepResult]:
        results: dict[str, StepResult] = {}
        waiting = [step for step in plan.steps if step.name in to_run]
        pool = ThreadPoolExecutor(self._jobs, thread_name_prefix="step")
        running: dict[Future[tuple[Made, StepResult]], str] = {}
        try:
            while waiting or running:
                self._cancel.check()
                for step in _ready(waiting, made, self._jobs - len(running)):
                    waiting.remove(step)
                    inputs = {name: made[name] for name in step.inputs}
                    running[pool.submit(self._run_step, step, inputs)] = step.name
                # The time limit lets a signal handler's flag be seen between events.
                done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    name = running.pop(future)
                    made[name], results[name] = future.result()
        except BaseException:
            self._cancel.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return results

    def _run_step(self, step: Step, inputs: dict[str, Made]) -> tuple[Made, StepResult]:
        with self._store.exclusive(step.key, self._cancel):
            # Another process may have made it while we waited for the lock.
            found = remembered(self._store, step)
            if found is not None:
                self._emit(StepFinished(step.name, cached=True, seconds=0.0))
                return found, StepResult(step.name, step.key, cached=True, seconds=0.0)
            self._emit(StepStarted(step.name))
            started = time.monotonic()
            made = self._make(step, inputs, started)
        self._emit(StepFinished(step.name, cached=False, seconds=made.seconds))
        return made, StepResult(step.name, step.key, cached=False, seconds=made.seconds)

    def _make(self, step: Step, inputs: dict[str, Made], started: float) -> Made:
        try:
            with self._store.scratch() as scratch:
                work, out = scratch / "work", scratch / "out"
                work.mkdir()
                out.mkdir()
                context = StepContext(self._store, inputs, work, out, self._emit, self._cancel)
                # As a later run will read them back from the record.
                facts = msgspec.json.decode(msgspec.json.encode(step.run(context)))
                self._cancel.check()
                tree = self._store.add_tree(out, self._cancel)
                seconds = round(time.monotonic() - started, 3)
                record = {"tree": tree.digest.hex, "facts": facts, "seconds": seconds}
                self._store.write_record(step.key, {"step": step.name, **record})
                return Made(tree, facts, seconds)
        except OSError as error:
            if self._cancel.is_set():
                raise CancelledError("Interrupted.") from error
            refused = from_os_error(error, f"finish the step {step.name}")
            refused.context["step"] = step.name
            raise refused from error
        except VvbuildError as error:
            error.context.setdefault("step", step.name)
            raise


def _ready(waiting: Iterable[Step], made: dict[str, Made], room: int) -> list[Step]:
    ready = [step for step in waiting if all(name in made for name in step.inputs)]
    return ready[: max(0, room)]
