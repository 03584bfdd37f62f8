"""A store, and steps that tell what they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from vvbuild.fetch.store import Store
from vvbuild.model.events import Event
from vvbuild.pipeline.runner import Runner, RunResult
from vvbuild.pipeline.step import Facts, Plan, PlanBuilder, StepContext
from vvbuild.runtime.cancel import Cancel


@dataclass
class Lab:
    """A store with a runner, and the names of the steps that have worked, in their order."""

    store: Store
    worked: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def step(self, name: str, **facts: object) -> Callable[[StepContext], Facts]:
        """A step that leaves one file with its name in it."""

        def run(context: StepContext) -> Facts:
            self.worked.append(name)
            (context.out / f"{name}.txt").write_text(name)
            return facts

        return run

    def run(self, plan: Plan, *, cancel: Cancel | None = None, jobs: int = 2) -> RunResult:
        self.worked.clear()
        runner = Runner(self.store, emit=self.events.append, cancel=cancel or Cancel(), jobs=jobs)
        return runner.run(plan)

    def chain(self, **parameters: object) -> Plan:
        """``a`` → ``b`` → ``c``, and ``d`` beside them; each step's parameter by its name."""
        builder = PlanBuilder()
        builder.add("a", self.step("a"), parameters={"p": parameters.get("a")})
        builder.add("b", self.step("b"), inputs=("a",), parameters={"p": parameters.get("b")})
        builder.add("c", self.step("c"), inputs=("b",), parameters={"p": parameters.get("c")})
        builder.add("d", self.step("d"), parameters={"p": parameters.get("d")})
        return builder.plan("c", "d")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    store = Store(tmp_path / "store")
    store.prepare()
    return Lab(store)
