import threading
from array import array

import hypothesis.strategies as st
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from onnx import TensorProto, helper

from vvbuild.ort import ClosedError, DType, OrtError, Session, Tensor, ValueInfo

FLOAT, INT32, INT64, BOOL = 1, 6, 7, 9


def make_model(nodes, inputs, outputs, weights=()):
    infos = [
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in side]
        for side in (inputs, outputs)
    ]
    graph = helper.make_graph(nodes, "g", *infos, list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


# y = x * x + x, z = the identity of each other type
ANY = [None, "columns"]
POLYNOMIAL = make_model(
    [helper.make_node("Mul", ["x", "x"], ["xx"]), helper.make_node("Add", ["xx", "x"], ["y"])],
    [("x", FLOAT, ANY)],
    [("y", FLOAT, ANY)],
)
ALL_TYPES = make_model(
    [helper.make_node("Identity", [f"in{k}"], [f"out{k}"]) for k in (FLOAT, INT32, INT64, BOOL)],
    [(f"in{k}", k, [None]) for k in (FLOAT, INT32, INT64, BOOL)],
    [(f"out{k}", k, [None]) for k in (FLOAT, INT32, INT64, BOOL)],
)

sizes = st.integers(0, 5)
floats = st.floats(-1e6, 1e6, width=32)


@settings(max_examples=60, deadline=None)
@given(st.data(), sizes, sizes)
def test_numbers_are_those_of_the_python_package(environment, oracle, data, rows, columns):
    values = data.draw(st.lists(floats, min_size=rows * columns, max_size=rows * columns))
    tensor = Tensor.of(DType.FLOAT32, values, (rows, columns))
    with Session(environment, POLYNOMIAL) as session:
        ours = session.run({"x": tensor})["y"]
    feeds = {"x": ("float32", (rows, columns), tensor.data.tobytes())}
    ((dtype, shape, content),) = oracle.run(POLYNOMIAL, feeds, ["y"])
    assert (dtype, tuple(shape), content) == ("float32", ours.shape, ours.data.tobytes())


@settings(max_examples=30, deadline=None)
@given(
    st.tuples(
        st.lists(floats, max_size=9),
        st.lists(st.integers(-(2**31), 2**31 - 1), max_size=9),
        st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9),
        st.lists(st.booleans(), max_size=9),
    )
)
def test_every_type_goes_in_and_comes_out_unchanged(environment, columns):
    types = (DType.FLOAT32, DType.INT32, DType.INT64, DType.BOOL)
    feeds = {
        f"in{dtype.onnx}": Tensor.of(dtype, values)
        for dtype, values in zip(types, columns, strict=True)
    }
    with Session(environment, ALL_TYPES) as session:
        result = session.run(feeds)
    for dtype, values in zip(types, columns, strict=True):
        output = result[f"out{dtype.onnx}"]
        assert output.dtype is dtype
        assert output.values.tolist() == values


def test_inputs_and_outputs_are_described_as_the_model_declares_them(open_session):
    session = open_session(POLYNOMIAL)
    assert session.inputs == (ValueInfo("x", FLOAT, DType.FLOAT32, (None, "columns")),)
    assert session.outputs == (ValueInfo("y", FLOAT, DType.FLOAT32, (None, "columns")),)


def test_what_is_not_a_tensor_has_no_shape(open_session):
    sequence = helper.make_tensor_sequence_value_info("s", FLOAT, None)
    graph = helper.make_graph(
        [helper.make_node("SequenceConstruct", ["x"], ["s"])],
        "g",
        [helper.make_tensor_value_info("x", FLOAT, [1])],
        [sequence],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = open_session(model.SerializeToString())
    assert session.outputs == (ValueInfo("s", None, None, None),)
    with pytest.raises(OrtError):
        session.run({"x": Tensor.of(DType.FLOAT32, [1])})


def test_only_the_outputs_asked_for_are_given_in_that_order(open_session):
    session = open_session(ALL_TYPES)
    feeds = {f"in{dtype.onnx}": Tensor.of(dtype, [1]) for dtype in DType}
    assert list(session.run(feeds, ["out9", "out1"])) == ["out9", "out1"]
    assert len(session.run(feeds)) == 4


def test_a_scalar_has_no_dimensions(open_session):
    session = open_session(
        make_model([helper.make_node("Neg", ["x"], ["y"])], [("x", FLOAT, [])], [("y", FLOAT, [])])
    )
    result = session.run({"x": Tensor(DType.FLOAT32, (), array("f", [2.5]))})
    assert result["y"].shape == ()
    assert result["y"].values.tolist() == [-2.5]


@pytest.mark.parametrize(
    "buffer",
    [
        array("f", [1, 2, 3, 4]),
        array("f", [1, 2, 3, 4]).tobytes(),
        bytearray(array("f", [1, 2, 3, 4]).tobytes()),
        memoryview(array("f", [1, 2, 3, 4]).tobytes()),
        memoryview(array("f", [1, 2, 3, 4])),
        np.array([[1, 2], [3, 4]], dtype="float32"),
    ],
    ids=lambda buffer: type(buffer).__name__,
)
def test_any_contiguous_buffer_can_be_fed(open_session, buffer):
    result = open_session(POLYNOMIAL).run({"x": Tensor(DType.FLOAT32, (2, 2), buffer)})
    assert result["y"].values.tolist() == [2, 6, 12, 20]


def test_a_writable_buffer_is_read_in_place(open_session):
    numbers = array("f", [1, 2])
    feeds = {"x": Tensor(DType.FLOAT32, (1, 2), numbers)}
    session = open_session(POLYNOMIAL)
    assert session.run(feeds)["y"].values.tolist() == [2, 6]
    numbers[0] = 3
    assert session.run(feeds)["y"].values.tolist() == [12, 6]


def test_a_result_outlives_its_session(environment):
    with Session(environment, POLYNOMIAL) as session:
        result = session.run({"x": Tensor.of(DType.FLOAT32, [1, 2], (1, 2))})
    assert result["y"].values.tolist() == [2, 6]


def test_a_model_can_be_read_from_a_path_with_any_letters(open_session, tmp_path):
    path = tmp_path / "声 模型.onnx"
    path.write_bytes(POLYNOMIAL)
    for given_path in (path, str(path)):
        session = open_session(given_path)
        result = session.run({"x": Tensor.of(DType.FLOAT32, [3], (1, 1))})
        assert result["y"].values.tolist() == [12]


def test_one_session_serves_many_threads(open_session):
    session = open_session(POLYNOMIAL)
    wrong = []

    def work(number):
        for turn in range(100):
            x = number * 100 + turn
            result = session.run({"x": Tensor.of(DType.FLOAT32, [x], (1, 1))})
            if result["y"].values[0] != x * x + x:
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def x(*values, dtype=DType.FLOAT32, shape=(1, 1)):
    return Tensor.of(dtype, values, shape)


@pytest.mark.parametrize(
    ("feeds", "outputs", "code", "words"),
    [
        ({"q": x(1)}, None, 2, "q"),
        ({"x": x(1, dtype=DType.INT64)}, None, 2, "Unexpected input data type"),
        ({"x": x(1, shape=(1,))}, None, 2, "Invalid rank for input: x"),
        ({"x": x(1)}, ["q"], 2, "q"),
    ],
    ids=["unknown input", "wrong type", "wrong rank", "unknown output"],
)
def test_a_refusal_has_onnx_runtimes_code_and_words(open_session, feeds, outputs, code, words):
    with pytest.raises(OrtError) as caught:
        open_session(POLYNOMIAL).run(feeds, outputs)
    assert caught.value.code == code
    assert words in caught.value.message
    assert f"ONNX Runtime error {code} (INVALID_ARGUMENT): " in str(caught.value)


def test_an_output_of_a_type_that_is_not_carried_is_refused_by_name(open_session):
    model = make_model(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.DOUBLE)],
        [("x", FLOAT, [1])],
        [("y", TensorProto.DOUBLE, [1])],
    )
    session = open_session(model)
    assert session.outputs[0].element_type == TensorProto.DOUBLE
    assert session.outputs[0].dtype is None
    with pytest.raises(OrtError, match=r"'y' has ONNX element type 11"):
        session.run({"x": Tensor.of(DType.FLOAT32, [1])})


@pytest.mark.parametrize("junk", [b"", b"not a model at all", POLYNOMIAL[:-20]])
def test_bytes_that_are_no_model_are_refused(environment, junk):
    with pytest.raises(OrtError):
        Session(environment, junk)


def test_a_missing_model_file_is_named(environment, tmp_path):
    with pytest.raises(OrtError, match=r"absent\.onnx"):
        Session(environment, tmp_path / "absent.onnx")


def test_a_closed_session_says_so_and_may_be_closed_again(environment):
    session = Session(environment, POLYNOMIAL)
    session.close()
    session.close()
    with pytest.raises(ClosedError, match="session is closed"):
        session.run({"x": x(1)})


@pytest.mark.parametrize("provider", ["CUDAExecutionProvider", "DmlExecutionProvider"])
def test_a_provider_that_is_not_built_in_is_refused(library, open_session, provider):
    assert provider not in library.available_providers()
    with pytest.raises(OrtError, match=r"not enabled|not supported"):
        open_session(POLYNOMIAL, providers=(provider,))


def test_the_cpu_can_be_asked_for_by_name(open_session):
    session = open_session(POLYNOMIAL, providers=("CPUExecutionProvider",))
    assert session.run({"x": x(2)})["y"].values.tolist() == [6]


def test_configuration_entries_reach_onnx_runtime(open_session):
    open_session(POLYNOMIAL, config={"session.intra_op.allow_spinning": "0"})
    with pytest.raises(OrtError, match="key is empty"):
        open_session(POLYNOMIAL, config={"": "0"})
