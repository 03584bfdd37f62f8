"""One unit of work, named by all that can change its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from vvbuild.fetch.store import Store
from vvbuild.model.digest import Digest
from vvbuild.model.events import Emit
from vvbuild.model.tree import Tree
from vvbuild.pipeline.code import code_digest
from vvbuild.runtime.cancel import Cancel

Facts: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Made:
    """What a step left: a tree in the store and facts that later steps may read."""

    tree: Tree
    facts: Facts
    seconds: float


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a step may touch: its inputs (read only), ``work`` and the fresh directory ``out``."""

    store: Store
    inputs: Mapping[str, Made]
    work: Path
    out: Path
    emit: Emit
    cancel: Cancel

    def tree(self, name: str) -> Path:
        """An input's tree as a shared directory that must not be written to."""
        return self.store.checkout(self.inputs[name].tree)

    def facts(self, name: str) -> Facts:
        """An input's facts."""
        return self.inputs[name].facts


@dataclass(frozen=True, slots=True)
class Step:
    """A planned step.

    ``parameters`` is JSON that says everything that decides the result beside the inputs;
    ``code`` names the modules that do the work, so that changing them, or what they import,
    makes the step new.
    ``run`` fills ``context.out`` and returns facts, which must follow from the key alone.
    ``why`` and ``download`` (bytes) are what `plan` tells people.
    """

    name: str
    inputs: tuple[str, ...]
    parameters: Mapping[str, object]
    code: tuple[str, ...]
    run: Callable[[StepContext], Facts]
    key: Digest
    why: str = ""
    download: int = 0


@dataclass(frozen=True)
class Plan:
    """Steps in an order in which each stands after its inputs; ``goals`` are what is wanted."""

    steps: tuple[Step, ...]
    goals: tuple[str, ...]

    def step(self, name: str) -> Step:
        """The step of that name."""
        return next(step for step in self.steps if step.name == name)


@dataclass
class PlanBuilder:
    """Collects steps and computes their keys."""

    steps: dict[str, Step] = field(default_factory=dict)

    def add(
        self,
        name: str,
        run: Callable[[StepContext], Facts],
        *,
        inputs: tuple[str, ...] = (),
        parameters: Mapping[str, object] | None = None,
        code: tuple[str, ...] = (),
        why: str = "",
        download: int = 0,
    ) -> str:
        """Add a step after its inputs; returns its name, which no other step may have."""
        if name in self.steps:
            raise ValueError(f"two steps are called {name!r}")
        parameters = parameters or {}
        key = Digest.of_json(
            {
                "name": name,
                "inputs": {each: self.steps[each].key.hex for each in inputs},
                "parameters": parameters,
                "code": code_digest(code),
            }
        )
        self.steps[name] = Step(name, inputs, parameters, code, run, key, why, download)
        return name

    def plan(self, *goals: str) -> Plan:
        """The finished plan."""
        return Plan(tuple(self.steps.values()), goals)
