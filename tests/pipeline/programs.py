"""Runs of a small plan as processes of their own.

``finish ROOT``: run it, print what it made. ``kill BASE SEED KILLS``: kill it and finish it,
many times. ``count ROOT FILE``: run a slow step that writes a line into FILE. ``limited ROOT
BYTES``: run it where no file may be larger.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

import filelock  # noqa: F401 - imported late by the store; children need not pay for it

from tests.forks import kill_child, lasting, moments, run_child
from vvbuild.errors import VvbuildError
from vvbuild.fetch.store import Store, walk
from vvbuild.model.digest import Digest
from vvbuild.model.events import silent
from vvbuild.pipeline.runner import Runner
from vvbuild.pipeline.step import Facts, Plan, PlanBuilder, StepContext
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.process import run

FILES = 20


def now_in(root: Path, step: str) -> None:
    (root.parent / f"{root.name}.now").write_text(step)


def small_plan(root: Path) -> Plan:
    """Files from nothing, files by a child, both copied together, and their sum."""

    def write(context: StepContext) -> Facts:
        for number in range(FILES):
            now_in(root, "write")
            (context.out / f"{number}").write_bytes(b"%d" % number * 1000)
            time.sleep(0.001)
        (context.out / "link").symlink_to("1")
        return {"files": FILES}

    def child(context: StepContext) -> Facts:
        now_in(root, "child")
        script = (
            "for i in 1 2 3 4 5 6 7 8; do echo $i > $OUT/$i; sleep 0.003; done; chmod +x $OUT/1"
        )
        run(["sh", "-c", script], cancel=context.cancel, environment={"OUT": str(context.out)})
        return {"by": "sh"}

    def copy(context: StepContext) -> Facts:
        for name in ("write", "child"):
            target = context.out / name
            context.store.export(context.inputs[name].tree, target)
            now_in(root, "copy")
            time.sleep(0.01)
        return dict(context.facts("write"))

    def total(context: StepContext) -> Facts:
        now_in(root, "total")
        tree = context.tree("copy")
        lines = [
            f"{relative} {kind} {Digest.of_bytes(path.read_bytes())}\n"
            for path, relative, kind in walk(tree)
        ]
        time.sleep(0.02)
        (context.out / "total").write_text("".join(lines))
        return {"lines": len(lines)}

    builder = PlanBuilder()
    builder.add("write", write)
    builder.add("child", child)
    builder.add("copy", copy, inputs=("write", "child"))
    builder.add("total", total, inputs=("copy",))
    return builder.plan("total", "copy")


def work(root: Path) -> dict[str, object]:
    """Run the plan; what it made, down to the bytes."""
    store = Store(root)
    store.prepare()
    result = Runner(store, emit=silent, cancel=Cancel(), jobs=2).run(small_plan(root))
    return {
        name: {
            "tree": made.tree.digest.hex,
            "facts": dict(made.facts),
            "bytes": [
                [relative, kind, "" if kind == "link" else Digest.of_bytes(path.read_bytes()).hex]
                for path, relative, kind in walk(store.checkout(made.tree))
            ],
        }
        for name, made in result.made.items()
    }


def finish(root: Path) -> None:
    print(json.dumps(work(root)))


def kill(base: Path, seed: int, kills: int) -> None:
    def written(root: Path) -> object:
        assert run_child(lambda: (base / "result").write_text(json.dumps(work(root)))) == 0
        return json.loads((base / "result").read_text())

    expected = written(base / "reference")
    once = lasting(lambda: work(base / "measured"))
    moment, caught, wrong, seen = moments(seed, once), 0, [], set()
    for number in range(kills):
        root = base / str(number)
        if kill_child(lambda r=root: work(r), moment()):
            caught += 1
            now = base / f"{number}.now"
            seen.add(now.read_text() if now.exists() else "nothing")
        made = written(root)
        if made != expected:
            wrong.append([number, made])
        # A child that was just being started may hold the dead run's locks a moment longer.
        assert run_child(Store(root).prepare) == 0
        if left := [path.name for path in (root / "v1" / "work").iterdir()]:
            wrong.append([number, left])
    print(json.dumps({"caught": caught, "wrong": wrong, "seen": sorted(seen)}))


def count(root: Path, file: Path) -> None:
    def slow(context: StepContext) -> Facts:
        with file.open("a") as stream:
            stream.write(f"{os.getpid()}\n")
        time.sleep(0.5)
        (context.out / "x").write_text("x")
        return {}

    store = Store(root)
    store.prepare()
    builder = PlanBuilder()
    builder.add("slow", slow)
    result = Runner(store, emit=silent, cancel=Cancel()).run(builder.plan("slow"))
    print(result.steps[0].cached)


def limited(root: Path, most: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    failing(root)


def failing(root: Path) -> None:
    """Run the plan where it cannot succeed; print the error."""
    try:
        work(root)
    except VvbuildError as error:
        print(json.dumps([error.code, error.exit_status, error.context.get("step"), error.hint]))


def grow(root: Path, most: int) -> None:
    """Run a plan whose second step needs more than ``most`` bytes of disk."""

    def small(context: StepContext) -> Facts:
        (context.out / "small").write_bytes(b"s" * 1000)
        return {}

    def big(context: StepContext) -> Facts:
        with (context.out / "big").open("wb") as stream:
            for _ in range(most >> 16):
                stream.write(b"b" * (1 << 16))
        return {}

    store = Store(root)
    builder = PlanBuilder()
    builder.add("small", small)
    builder.add("big", big, inputs=("small",))
    try:
        store.prepare()
        result = Runner(store, emit=silent, cancel=Cancel()).run(builder.plan("big"))
        print(json.dumps([[step.name, step.cached] for step in result.steps]))
    except VvbuildError as error:
        print(json.dumps([error.code, error.exit_status, error.context.get("step"), error.hint]))


if __name__ == "__main__":
    command, *words = sys.argv[1:]
    first, rest = Path(words[0]), words[1:]
    if command == "count":
        count(first, Path(rest[0]))
    else:
        {"finish": finish, "kill": kill, "limited": limited, "grow": grow}[command](
            first, *map(int, rest)
        )
