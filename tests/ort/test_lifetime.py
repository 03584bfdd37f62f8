import gc
from collections import Counter
from contextlib import suppress

import hypothesis.strategies as st
import psutil
import pytest
from hypothesis import given
from onnx import helper

from vvbuild.ort import (
    ClosedError,
    DType,
    Environment,
    Library,
    OrtError,
    RunOptions,
    Session,
    Tensor,
    Terminated,
)
from vvbuild.ort._handle import Handle

ELEMENTS = 20_000
MIB = 1 << 20


def identity_model():
    value = [helper.make_tensor_value_info(name, 1, ["n"]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def test_many_lives_do_not_grow_the_process(library):
    """Each cycle would leak over 150 KiB if only one of its tensors were forgotten."""
    model = identity_model()
    tensor = Tensor.of(DType.FLOAT32, range(ELEMENTS))

    def cycle():
        with (
            Environment(library) as environment,
            Session(environment, model) as session,
            RunOptions(library) as options,
        ):
            session.run({"x": tensor}, run_options=options)
            options.terminate()
            with pytest.raises(Terminated):
                session.run({"x": tensor}, run_options=options)

    for _ in range(20):
        cycle()
    gc.collect()
    before = psutil.Process().memory_info().rss
    for _ in range(200):
        cycle()
    gc.collect()
    assert psutil.Process().memory_info().rss - before < 12 * MIB


MAKERS = {
    "CreateEnv": "Env",
    "CreateSessionOptions": "SessionOptions",
    "CreateSessionFromArray": "Session",
    "CreateRunOptions": "RunOptions",
    "CreateCpuMemoryInfo": "MemoryInfo",
    "CreateTensorWithDataAsOrtValue": "Value",
    "SessionGetInputTypeInfo": "TypeInfo",
    "SessionGetOutputTypeInfo": "TypeInfo",
    "GetTensorTypeAndShape": "TensorTypeAndShapeInfo",
    "SessionGetInputName": "name",
    "SessionGetOutputName": "name",
}


class Counting(Library):
    """Counts what was created and what was released, by the kind of thing."""

    def __init__(self, path):
        self.made, self.released = Counter(), Counter()
        super().__init__(path)

    def call(self, name, *arguments):
        result = super().call(name, *arguments)
        if name == "AllocatorFree":
            self.released["name"] += 1
        elif name.startswith("Release"):
            self.released[name.removeprefix("Release")] += 1
        elif result and name not in ("GetErrorCode", "GetErrorMessage"):
            self.made["Status"] += 1
        elif name == "Run":
            self.made["Value"] += arguments[6]
        elif name in MAKERS:
            self.made[MAKERS[name]] += 1
        return result


def test_whatever_is_made_is_released_whether_runs_succeed_or_not(ort_path):
    library = Counting(ort_path)
    tensor = Tensor.of(DType.FLOAT32, [1, 2])
    with (
        Environment(library) as environment,
        Session(environment, identity_model()) as session,
        RunOptions(library) as options,
    ):
        for feeds in ({"x": tensor}, {"q": tensor}, {"x": Tensor.of(DType.INT64, [1])}):
            with suppress(OrtError):
                session.run(feeds, run_options=options)
        options.terminate()
        with suppress(Terminated):
            session.run({"x": tensor}, run_options=options)
        with suppress(OrtError):
            Session(environment, b"no model")
    assert library.made["Value"] == 5
    assert library.made["Status"] == 4
    assert library.made == library.released


def test_what_is_forgotten_is_released_with_a_warning(library):
    kept = [RunOptions(library)]
    with pytest.warns(ResourceWarning, match="unclosed run options"):
        kept.clear()


@given(st.lists(st.sampled_from(["enter", "leave", "close", "enter_late"]), max_size=30))
def test_a_handle_is_released_once_and_never_under_a_user(actions):
    released = []
    handle = Handle("thing", 7, released.append)
    users = []
    for action in actions:
        if action == "enter":
            if handle.closed:
                with pytest.raises(ClosedError), handle.use():
                    pass
            else:
                users.append((handle.use(), 7))
                assert users[-1][0].__enter__() == 7
        elif action == "enter_late":
            users.append((handle.use_if_alive(), None if released else 7))
            assert users[-1][0].__enter__() == users[-1][1]
        elif action == "leave" and users:
            users.pop()[0].__exit__(None, None, None)
        elif action == "close":
            handle.close()
        held = any(address for _, address in users)
        assert released == ([7] if handle.closed and not held else [])
    handle.close()
    while users:
        users.pop()[0].__exit__(None, None, None)
    assert released == [7]
