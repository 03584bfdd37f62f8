from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import psutil
import pytest

from tests.pipeline.conftest import Lab
from vvbuild.errors import (
    CancelledError,
    DigestMismatchError,
    DiskFullError,
    ExternalError,
    PermissionDeniedError,
)
from vvbuild.model.digest import Digest
from vvbuild.model.events import StepFinished, StepStarted
from vvbuild.pipeline.runner import missing_steps
from vvbuild.pipeline.step import Facts, Plan, PlanBuilder, StepContext
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.process import run


def states(result) -> dict[str, bool]:
    return {step.name: step.cached for step in result.steps}


# What runs


def test_a_first_run_does_everything_and_a_second_nothing(lab: Lab) -> None:
    first = lab.run(lab.chain())
    assert sorted(lab.worked) == ["a", "b", "c", "d"]
    assert lab.worked.index("a") < lab.worked.index("b") < lab.worked.index("c")

    second = lab.run(lab.chain())

    assert lab.worked == []
    assert states(first) == dict.fromkeys("abcd", False)
    assert states(second) == dict.fromkeys("abcd", True)
    assert {n: m.tree.digest for n, m in first.made.items()} == {
        n: m.tree.digest for n, m in second.made.items()
    }


def test_only_what_a_change_reaches_is_done_again(lab: Lab) -> None:
    lab.run(lab.chain())

    lab.run(lab.chain(b="new"))

    assert lab.worked == ["b", "c"]


def test_a_change_that_was_there_before_costs_nothing(lab: Lab) -> None:
    lab.run(lab.chain())
    lab.run(lab.chain(a="new"))
    lab.run(lab.chain())

    assert lab.worked == []


def test_what_only_feeds_remembered_steps_is_not_done(lab: Lab) -> None:
    """Nobody fetches a gigabyte again to make what is made already."""
    lab.run(lab.chain())
    (record,) = (lab.store.base / "records").rglob(f"{lab.chain().step('a').key.hex}.json")
    record.unlink()

    plan = lab.chain()
    made, to_run = missing_steps(plan, lab.store)
    result = lab.run(plan)

    assert set(made) == {"c", "d"}
    assert to_run == set()
    assert lab.worked == []
    assert states(result)["a"]


def test_what_is_needed_again_is_done_with_all_that_it_needs(lab: Lab) -> None:
    lab.run(lab.chain())
    for name in ("a", "b"):
        (record,) = (lab.store.base / "records").rglob(f"{lab.chain().step(name).key.hex}.json")
        record.unlink()

    lab.run(lab.chain(c="new"))

    assert lab.worked == ["a", "b", "c"]


def test_a_result_that_was_tampered_with_is_made_again(lab: Lab) -> None:
    first = lab.run(lab.chain())
    path = lab.store.file_path(Digest.of_bytes(b"c"))
    path.chmod(0o644)
    path.write_bytes(b"evil")

    again = lab.run(lab.chain())

    assert lab.worked == ["c"]
    assert again.made["c"].tree == first.made["c"].tree
    assert lab.store.file_path(Digest.of_bytes(b"c")).read_bytes() == b"c"


@pytest.mark.parametrize(
    "record",
    [{}, {"tree": 1, "facts": {}}, {"tree": "zz", "facts": {}}, {"tree": "0" * 64, "facts": []},
     {"tree": "0" * 64, "facts": {}}],
    ids=str,
)  # fmt: skip
def test_a_damaged_record_is_written_anew(record: dict[str, object], lab: Lab) -> None:
    lab.run(lab.chain())
    plan = lab.chain()
    lab.store.write_record(plan.step("d").key, record)

    lab.run(plan)

    assert lab.worked == ["d"]
    lab.run(plan)
    assert lab.worked == []


def test_results_stand_in_the_order_of_the_plan(lab: Lab) -> None:
    builder = PlanBuilder()
    names = [builder.add(f"s{number}", lab.step(f"s{number}")) for number in range(12)]
    plan = builder.plan(*reversed(names))

    assert [step.name for step in lab.run(plan, jobs=4).steps] == names
    assert [step.name for step in lab.run(plan, jobs=4).steps] == names


def test_events_tell_what_began_and_what_was_there(lab: Lab) -> None:
    lab.run(lab.chain(), jobs=1)
    assert [e.step for e in lab.events if isinstance(e, StepStarted)] == lab.worked
    finished = [e for e in lab.events if isinstance(e, StepFinished)]
    assert {e.step: e.cached for e in finished} == dict.fromkeys("abcd", False)

    lab.events.clear()
    lab.run(lab.chain())
    assert [(e.step, e.cached) for e in lab.events] == [(name, True) for name in "abcd"]


# What a step gets and gives


def test_a_step_sees_what_its_inputs_made(lab: Lab) -> None:
    seen = {}

    def look(context: StepContext) -> Facts:
        seen["tree"] = (context.tree("a") / "a.txt").read_text()
        seen["facts"] = context.facts("a")
        seen["names"] = set(context.inputs)
        assert list(context.work.iterdir()) == list(context.out.iterdir()) == []
        return {}

    builder = PlanBuilder()
    builder.add("a", lab.step("a", number=1))
    builder.add("unrelated", lab.step("unrelated"))
    builder.add("look", look, inputs=("a",))
    lab.run(builder.plan("look", "unrelated"))

    assert seen == {"tree": "a", "facts": {"number": 1}, "names": {"a"}}


def test_facts_are_the_same_in_the_first_run_and_in_later_ones(lab: Lab) -> None:
    """JSON knows no tuples; a step that got one only sometimes would work only sometimes."""
    builder = PlanBuilder()
    builder.add("a", lab.step("a", pairs=(("x", 1), ("y", 2))))
    plan = builder.plan("a")

    first, second = lab.run(plan).made["a"], lab.run(plan).made["a"]

    assert first.facts == second.facts == {"pairs": [["x", 1], ["y", 2]]}


def test_scratch_is_gone_after_a_run(lab: Lab) -> None:
    lab.run(lab.chain())

    assert list((lab.store.base / "work").iterdir()) == []


# Failures


def failing(error: Exception):
    def run(context: StepContext) -> Facts:
        (context.out / "half").write_text("half")
        raise error

    return run


def plan_with(lab: Lab, name: str, step) -> Plan:
    """``good`` → the step → ``after``."""
    builder = PlanBuilder()
    builder.add("good", lab.step("good"))
    builder.add(name, step, inputs=("good",))
    builder.add("after", lab.step("after"), inputs=(name,))
    return builder.plan("after")


def test_a_failing_step_leaves_no_record_and_the_others_stay(lab: Lab) -> None:
    plan = plan_with(lab, "bad", failing(DigestMismatchError("no")))

    with pytest.raises(DigestMismatchError) as caught:
        lab.run(plan)

    assert caught.value.context["step"] == "bad"
    assert lab.worked == ["good"]
    assert lab.store.record(plan.step("good").key) is not None
    assert lab.store.record(plan.step("bad").key) is None
    assert list((lab.store.base / "work").iterdir()) == []
    lab.run(plan_with(lab, "bad", lab.step("bad")))
    assert lab.worked == ["bad", "after"]


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        (OSError(28, "No space left on device"), DiskFullError, 8),
        (OSError(122, "Disk quota exceeded"), DiskFullError, 8),
        (OSError(27, "File too large"), DiskFullError, 8),
        (PermissionError(13, "Permission denied"), PermissionDeniedError, 8),
        (OSError(30, "Read-only file system"), PermissionDeniedError, 8),
    ],
)
def test_what_the_system_refuses_is_named(
    error: OSError, kind: type, status: int, lab: Lab
) -> None:
    with pytest.raises(kind, match="Could not finish the step bad") as caught:
        lab.run(plan_with(lab, "bad", failing(error)))

    assert caught.value.exit_status == status
    assert caught.value.hint


def test_a_fault_of_our_own_is_not_swallowed(lab: Lab) -> None:
    with pytest.raises(ZeroDivisionError):
        lab.run(plan_with(lab, "bad", failing(ZeroDivisionError())))


def test_a_failure_stops_the_others(lab: Lab) -> None:
    began = threading.Event()

    def patient(context: StepContext) -> Facts:
        began.set()
        context.cancel.wait(60)
        context.cancel.check()
        return {}

    def fail(context: StepContext) -> Facts:
        assert began.wait(20)
        raise ExternalError("no")

    builder = PlanBuilder()
    builder.add("patient", patient)
    builder.add("fail", fail)
    builder.add("later", lab.step("later"), inputs=("patient",))
    plan = builder.plan("later", "fail")

    with pytest.raises(ExternalError, match="no"):
        lab.run(plan)
    assert lab.worked == []
    assert lab.store.record(plan.step("patient").key) is None


# Interruptions


def interrupted(lab: Lab, plan: Plan, ready: threading.Event) -> float:
    """Set the flag once the step is at work; returns how long the run went on."""
    cancel = Cancel()
    caught: list[BaseException] = []

    def work() -> None:
        try:
            lab.run(plan, cancel=cancel)
        except CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert ready.wait(30)
    started = time.monotonic()
    cancel.set()
    thread.join(30)
    assert not thread.is_alive()
    assert len(caught) == 1
    return time.monotonic() - started


def test_a_waiting_step_ends_when_it_is_told(lab: Lab) -> None:
    ready = threading.Event()

    def wait(context: StepContext) -> Facts:
        ready.set()
        assert context.cancel.wait(60)
        return {}

    plan = plan_with(lab, "wait", wait)
    # Two seconds is what people are promised; nothing here waits for any part of them.
    assert interrupted(lab, plan, ready) < 60
    assert lab.store.record(plan.step("wait").key) is None
    assert lab.worked == ["good"]


def test_no_child_is_left_of_an_interrupted_step(lab: Lab, tmp_path: Path) -> None:
    ready, mark = threading.Event(), f"runner-{tmp_path.name}-{os.getpid()}"

    def child(context: StepContext) -> Facts:
        script = f"echo ready; sleep 86399; echo {mark}"
        run(["sh", "-c", script], cancel=context.cancel, on_line=lambda line: ready.set())
        return {}

    plan = plan_with(lab, "child", child)
    assert interrupted(lab, plan, ready) < 60

    left = [
        process.pid
        for process in psutil.process_iter(["cmdline", "status"])
        if mark in " ".join(process.info["cmdline"] or ())
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]
    assert left == []
    assert lab.store.record(plan.step("child").key) is None
    assert list((lab.store.base / "work").iterdir()) == []


def test_who_waits_for_another_process_can_be_interrupted(lab: Lab) -> None:
    plan = lab.chain()
    ready = threading.Event()
    with lab.store.exclusive(plan.step("d").key, Cancel()):
        ready.set()
        assert interrupted(lab, plan, ready) < 60
    assert "d" not in lab.worked


def test_a_run_that_is_interrupted_before_it_begins_does_nothing(lab: Lab) -> None:
    cancel = Cancel()
    cancel.set()

    with pytest.raises(CancelledError):
        lab.run(lab.chain(), cancel=cancel)
    assert lab.worked == []
