from array import array

import pytest

from vvbuild.ort import DType, Tensor


def test_a_buffer_of_another_size_than_the_shape_needs_is_refused():
    with pytest.raises(ValueError, match="needs 24 bytes, got 8"):
        Tensor(DType.FLOAT32, (2, 3), bytes(8))


def test_a_negative_size_is_refused_even_where_the_product_fits():
    with pytest.raises(ValueError, match="negative"):
        Tensor(DType.FLOAT32, (-1, -1), bytes(4))


def test_a_buffer_with_gaps_is_refused():
    with pytest.raises(TypeError, match="contiguous"):
        Tensor(DType.INT32, (2,), memoryview(array("i", [1, 2, 3, 4]))[::2])


def test_what_is_no_buffer_is_refused():
    with pytest.raises(TypeError):
        Tensor(DType.INT32, (2,), [1, 2])


def test_values_are_of_the_tensors_type():
    assert Tensor.of(DType.BOOL, [2, 0, True]).values.tolist() == [True, False, True]
    assert Tensor.of(DType.INT64, [1, -(2**63)]).values.tolist() == [1, -(2**63)]
    assert Tensor.of(DType.FLOAT32, [1, 2.5]).values.tolist() == [1.0, 2.5]


def test_length_counts_elements_and_an_empty_tensor_has_none():
    assert len(Tensor.of(DType.INT64, [1, 2, 3])) == 3
    assert len(Tensor.of(DType.INT64, [], (4, 0))) == 0
    assert Tensor.of(DType.INT64, []).values.tolist() == []
