"""Dense tensors over plain Python buffers."""

from __future__ import annotations

import ctypes
import math
from array import array
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, cast


class DType(Enum):
    """An element type: ``ONNXTensorElementDataType``, and how Python's buffers call it."""

    FLOAT32 = (1, "f", 4)
    INT32 = (6, "i", 4)
    INT64 = (7, "q", 8)
    BOOL = (9, "?", 1)

    def __init__(self, onnx: int, code: str, itemsize: int) -> None:
        self.onnx = onnx
        self.code = code
        self.itemsize = itemsize

    @classmethod
    def from_onnx(cls, number: int) -> DType | None:
        """The type of that number, or ``None`` for one that this package does not carry."""
        return next((dtype for dtype in cls if dtype.onnx == number), None)


class Tensor:
    """Elements of one type in row-major order, with a shape.

    ``data`` is any contiguous buffer: ``bytes``, ``bytearray``, ``array.array``, a
    ``memoryview``, a NumPy array. It is not copied and must not change during a run. Raises
    ``ValueError`` if its size is not what shape and type need, ``TypeError`` if it is no
    contiguous buffer.
    """

    def __init__(self, dtype: DType, shape: Sequence[int], data: Any) -> None:
        self.dtype = dtype
        self.shape = tuple(shape)
        if any(size < 0 for size in self.shape):
            raise ValueError(f"negative size in shape {self.shape}")
        view = memoryview(data)
        if not view.c_contiguous:
            raise TypeError("the buffer is not contiguous in row-major order")
        self._owner = data
        self._bytes = view.cast("B") if view.nbytes else memoryview(b"")
        needed = math.prod(self.shape) * dtype.itemsize
        if view.nbytes != needed:
            raise ValueError(
                f"shape {self.shape} of {dtype.name} needs {needed} bytes, got {view.nbytes}"
            )

    @classmethod
    def of(
        cls, dtype: DType, values: Iterable[float], shape: Sequence[int] | None = None
    ) -> Tensor:
        """Copy plain numbers (or truth values); one dimension unless ``shape`` says more."""
        data: bytes | array[Any]
        if dtype is DType.BOOL:
            data = bytes(bool(value) for value in values)
        else:
            data = array(dtype.code, values)
        return cls(dtype, (len(data),) if shape is None else shape, data)

    @property
    def data(self) -> memoryview:
        """The bytes of the elements."""
        return self._bytes

    @property
    def values(self) -> memoryview[float]:
        """The elements, flat, as numbers or truth values: index, slice or ``tolist()`` them."""
        code: Any = self.dtype.code
        return cast("memoryview[float]", self._bytes.cast(code))

    def __len__(self) -> int:
        """The number of elements."""
        return self._bytes.nbytes // self.dtype.itemsize

    def __repr__(self) -> str:
        return f"Tensor({self.dtype.name}, {self.shape})"

    def pinned(self) -> Any:
        """A ctypes object at the elements' address; they stay there while it lives.

        Only a read-only buffer that is not ``bytes`` is copied: the standard library gives
        no way to its address.
        """
        if isinstance(self._owner, bytes):
            return ctypes.cast(ctypes.c_char_p(self._owner), ctypes.c_void_p)
        if not self._bytes.nbytes or self._bytes.readonly:
            return ctypes.cast(ctypes.c_char_p(self._bytes.tobytes()), ctypes.c_void_p)
        return (ctypes.c_char * self._bytes.nbytes).from_buffer(self._bytes)
