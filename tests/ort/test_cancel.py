import time

import numpy as np
import pytest
from onnx import helper, numpy_helper

from vvbuild.ort import (
    ClosedError,
    DType,
    Environment,
    OrtError,
    RunOptions,
    Session,
    Tensor,
    Terminated,
)

FLOAT, INT64, BOOL = 1, 7, 9
WORDS = "Exiting due to terminate flag being set to true"


def make_model(nodes, inputs, outputs, weights=()):
    infos = [
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in side]
        for side in (inputs, outputs)
    ]
    graph = helper.make_graph(nodes, "g", *infos, list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def chain(nodes, size):
    """Matrix products one after the other: many nodes, each of some milliseconds."""
    weight = numpy_helper.from_array(np.eye(size, dtype="float32"), "w")
    return make_model(
        [helper.make_node("MatMul", [f"v{i}", "w"], [f"v{i + 1}"]) for i in range(nodes)],
        [("v0", FLOAT, [size, size])],
        [(f"v{nodes}", FLOAT, [size, size])],
        [weight],
    )


def counting_loop():
    """A Loop that adds 1 as often as it is told to, so that it can go on for ever."""
    one = numpy_helper.from_array(np.array([1], dtype="int64"), "one")
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "one"], ["b"]), helper.make_node("Identity", ["c"], ["d"])],
        "body",
        [
            helper.make_tensor_value_info("i", INT64, []),
            helper.make_tensor_value_info("c", BOOL, []),
            helper.make_tensor_value_info("a", INT64, [1]),
        ],
        [
            helper.make_tensor_value_info("d", BOOL, []),
            helper.make_tensor_value_info("b", INT64, [1]),
        ],
    )
    return make_model(
        [helper.make_node("Loop", ["trips", "", "start"], ["end"], body=body)],
        [("trips", INT64, []), ("start", INT64, [1])],
        [("end", INT64, [1])],
        [one],
    )


LOOP = counting_loop()
FOR_EVER = 2**62


def trips(count):
    return {
        "trips": Tensor.of(DType.INT64, [count], ()),
        "start": Tensor.of(DType.INT64, [0]),
    }


@pytest.fixture
def options(library):
    with RunOptions(library) as options:
        yield options


def test_an_endless_loop_ends_when_it_is_terminated(open_session, start_run, options):
    run = start_run(open_session(LOOP), trips(FOR_EVER), options).wait_until_inside()
    options.terminate()
    assert isinstance(run.join().error, Terminated)
    assert WORDS in run.error.message
    assert "Loop node" in run.error.message
    assert run.error.code == 1


def test_a_chain_of_nodes_ends_between_two_of_them(open_session, start_run, options):
    size = 512
    session = open_session(chain(1500, size))
    feeds = {"v0": Tensor(DType.FLOAT32, (size, size), bytes(4 * size * size))}
    run = start_run(session, feeds, options).wait_until_inside()
    options.terminate()
    assert isinstance(run.join().error, Terminated)
    assert WORDS in run.error.message


def test_the_session_serves_on_after_a_cancelled_run(open_session, start_run, options, library):
    session = open_session(LOOP)
    run = start_run(session, trips(FOR_EVER), options).wait_until_inside()
    options.terminate()
    run.join()
    assert session.run(trips(7))["end"].values.tolist() == [7]
    with RunOptions(library) as fresh:
        assert session.run(trips(8), run_options=fresh)["end"].values.tolist() == [8]


def test_the_flag_is_sticky_until_it_is_cleared(open_session, options):
    session = open_session(LOOP)
    options.terminate()
    assert options.terminate_requested
    for _ in range(2):
        with pytest.raises(Terminated):
            session.run(trips(1), run_options=options)
    options.unset_terminate()
    assert not options.terminate_requested
    result = session.run(trips(3), run_options=options)
    assert result["end"].values.tolist() == [3]
    assert not result.late_terminate


def test_one_flag_ends_every_run_that_shares_it_and_no_other(
    open_session, start_run, options, library
):
    session = open_session(LOOP)
    both = [start_run(session, trips(FOR_EVER), options) for _ in range(2)]
    with RunOptions(library) as others:
        spared = start_run(session, trips(FOR_EVER), others)
        for run in (*both, spared):
            run.wait_until_inside()
        options.terminate()
        assert all(isinstance(run.join().error, Terminated) for run in both)
        time.sleep(0.05)
        assert spared.error is None
        assert spared.result is None
        others.terminate()
        assert isinstance(spared.join().error, Terminated)


def late_run(open_session, start_run, library, cancel):
    """Cancel inside the one node of a model, which cannot be interrupted.

    When exactly the node begins is not ours to know, so a run that was caught before it, or
    that had ended already, is tried again.
    """
    size = 1500
    session = open_session(chain(1, size))
    feeds = {"v0": Tensor(DType.FLOAT32, (size, size), bytes(4 * size * size))}
    for _ in range(50):
        with RunOptions(library) as options:
            run = start_run(session, feeds, options).wait_until_inside(0.02)
            cancel(options)
            run.join()
        if run.result is not None and run.result.late_terminate:
            return run.result, size
    raise AssertionError("no terminate came too late")


def test_a_terminate_that_came_too_late_is_visible_in_the_result(open_session, start_run, library):
    result, size = late_run(open_session, start_run, library, RunOptions.terminate)
    assert result["v1"].shape == (size, size)
    assert not any(result["v1"].data)


def test_a_late_terminate_stays_visible_when_the_flag_was_cleared_meanwhile(
    open_session, start_run, library
):
    def terminate_and_regret(options):
        options.terminate()
        options.unset_terminate()
        assert not options.terminate_requested

    result, _ = late_run(open_session, start_run, library, terminate_and_regret)
    assert result.late_terminate


def test_closing_the_options_during_a_run_leaves_the_run_in_peace(open_session, start_run, library):
    options = RunOptions(library)
    session = open_session(LOOP)
    run = start_run(session, trips(FOR_EVER), options).wait_until_inside()
    options.close()
    with pytest.raises(ClosedError):
        session.run(trips(1), run_options=options)
    time.sleep(0.05)
    assert run.error is None
    options.terminate()  # still reaches the run that was begun before
    assert isinstance(run.join().error, Terminated)
    options.terminate()  # and now there is nothing left to end
    with pytest.raises(ClosedError, match="run options"):
        options.unset_terminate()


def test_closing_everything_during_a_run_leaves_the_run_in_peace(library, start_run, options):
    environment = Environment(library)
    session = Session(environment, LOOP)
    run = start_run(session, trips(FOR_EVER), options).wait_until_inside()
    environment.close()
    session.close()
    with pytest.raises(ClosedError):
        session.run(trips(1))
    with pytest.raises(ClosedError, match="environment"):
        Session(environment, LOOP)
    options.terminate()
    assert isinstance(run.join().error, Terminated)


def test_another_error_is_not_taken_for_a_cancel(open_session, options):
    options.terminate()
    with pytest.raises(OrtError) as caught:
        open_session(LOOP).run({}, ["nothing"], run_options=options)
    assert not isinstance(caught.value, Terminated)
