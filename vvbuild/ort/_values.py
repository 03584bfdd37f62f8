"""Between native values and tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_char_p, c_int, c_int64, c_size_t, c_void_p
from dataclasses import dataclass

from vvbuild.ort.errors import OrtError
from vvbuild.ort.library import Library
from vvbuild.ort.tensor import DType, Tensor

Dimension = int | str | None

_DEVICE_ALLOCATOR = 0
_DEFAULT_MEMORY = 0


@dataclass(frozen=True)
class ValueInfo:
    """An input or output of a model as the model declares it.

    ``element_type`` is ONNX's number for the type, ``dtype`` ours where there is one. A
    dimension of ``shape`` is a size, a name, or ``None`` when it is free and nameless.
    ``element_type``, ``dtype`` and ``shape`` are ``None`` for what is not a tensor.
    """

    name: str
    element_type: int | None
    dtype: DType | None
    shape: tuple[Dimension, ...] | None


def value_infos(library: Library, session: int, kind: str) -> tuple[ValueInfo, ...]:
    """What the session declares for ``kind``, ``"Input"`` or ``"Output"``, in its order."""
    count = c_size_t()
    library.check(f"SessionGet{kind}Count", session, ctypes.byref(count))
    return tuple(_value_info(library, session, kind, index) for index in range(count.value))


@contextmanager
def wrap_tensor(library: Library, memory: int, tensor: Tensor) -> Iterator[int]:
    """An ``OrtValue`` over the tensor's own buffer, for the block."""
    pinned = tensor.pinned()
    shape = (c_int64 * len(tensor.shape))(*tensor.shape)
    address = library.create(
        "CreateTensorWithDataAsOrtValue",
        memory,
        pinned if isinstance(pinned, c_void_p) else ctypes.addressof(pinned),
        tensor.data.nbytes,
        shape,
        len(tensor.shape),
        tensor.dtype.onnx,
    )
    try:
        yield address
    finally:
        library.call("ReleaseValue", address)
        del pinned  # not before: the value points into it


def read_value(library: Library, value: int, name: str) -> Tensor:
    """Copy an ``OrtValue`` out. Raises :class:`OrtError` for types that we do not carry."""
    info = library.create("GetTensorTypeAndShape", value)
    try:
        element_type, sizes, _ = _type_and_shape(library, info)
    finally:
        library.call("ReleaseTensorTypeAndShapeInfo", info)
    dtype = DType.from_onnx(element_type)
    if dtype is None:
        raise OrtError(f"Output {name!r} has ONNX element type {element_type}, not read here.")
    size = dtype.itemsize
    for dimension in sizes:
        size *= dimension
    data = library.create("GetTensorMutableData", value) if size else 0
    # Not string_at: its size is a C int, and a tensor can have 2 GiB.
    return Tensor(dtype, sizes, (ctypes.c_char * size).from_address(data).raw if size else b"")


def cpu_memory(library: Library) -> int:
    """An ``OrtMemoryInfo`` for buffers of ours; the caller releases it."""
    return library.create("CreateCpuMemoryInfo", _DEVICE_ALLOCATOR, _DEFAULT_MEMORY)


def _value_info(library: Library, session: int, kind: str, index: int) -> ValueInfo:
    name = _name(library, session, kind, index)
    type_info = library.create(f"SessionGet{kind}TypeInfo", session, index)
    try:
        # Lent by type_info, hence not released; NULL for sequences, maps and the like.
        tensor_info = library.create("CastTypeInfoToTensorInfo", type_info)
        if not tensor_info:
            return ValueInfo(name, None, None, None)
        element_type, sizes, symbols = _type_and_shape(library, tensor_info)
    finally:
        library.call("ReleaseTypeInfo", type_info)
    shape = tuple(
        size if size >= 0 else symbol or None for size, symbol in zip(sizes, symbols, strict=True)
    )
    return ValueInfo(name, element_type, DType.from_onnx(element_type), shape)


def _name(library: Library, session: int, kind: str, index: int) -> str:
    allocator = library.create("GetAllocatorWithDefaultOptions")
    address = library.create(f"SessionGet{kind}Name", session, index, allocator)
    try:
        return ctypes.string_at(address).decode("utf-8", "replace")
    finally:
        library.check("AllocatorFree", allocator, address)


def _type_and_shape(library: Library, info: int) -> tuple[int, list[int], list[str]]:
    element_type = c_int()
    library.check("GetTensorElementType", info, ctypes.byref(element_type))
    rank = c_size_t()
    library.check("GetDimensionsCount", info, ctypes.byref(rank))
    sizes = (c_int64 * rank.value)()
    library.check("GetDimensions", info, sizes, rank)
    symbols = (c_char_p * rank.value)()
    library.check("GetSymbolicDimensions", info, symbols, rank)
    names = [(symbol or b"").decode("utf-8", "replace") for symbol in symbols]
    return element_type.value, list(sizes), names
