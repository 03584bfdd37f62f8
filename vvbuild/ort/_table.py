"""The slots of ``OrtApi`` that this package calls: index, arguments and result.

``OrtApi`` is a struct of function pointers that only ever grows at its end, so an index
is valid for every ONNX Runtime that has the slot at all. Indices and signatures are those
of ``onnxruntime_c_api.h``: the 15 tables of API 14 to 29 are exact prefixes of each other,
and the slots below answered on libraries from 1.13.1 to 1.32.0.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p
from dataclasses import dataclass
from typing import Any

# ORT_API_CALL is __stdcall on Windows and nothing elsewhere.
PROTOTYPE: Any = getattr(ctypes, "WINFUNCTYPE", ctypes.CFUNCTYPE)

# ORTCHAR_T: paths are UTF-16 on Windows, bytes elsewhere.
ORT_PATH: Any = ctypes.c_wchar_p if sys.platform == "win32" else c_char_p

_OUT = POINTER(c_void_p)
_OUT_SIZE = POINTER(c_size_t)
_OUT_INT = POINTER(c_int)
_STRINGS = POINTER(c_char_p)


@dataclass(frozen=True)
class Slot:
    """One function of the table. ``result`` is ``c_void_p`` for a status, or what is returned.

    ``since`` is the API version from which the slot is known to exist.
    """

    index: int
    arguments: tuple[Any, ...]
    result: Any = c_void_p
    since: int = 1


SLOTS: dict[str, Slot] = {
    # Status: the only results that are not statuses themselves.
    "GetErrorCode": Slot(1, (c_void_p,), c_int),
    "GetErrorMessage": Slot(2, (c_void_p,), c_char_p),
    "ReleaseStatus": Slot(93, (c_void_p,), None),
    # Environment
    "CreateEnv": Slot(3, (c_int, c_char_p, _OUT)),
    "ReleaseEnv": Slot(92, (c_void_p,), None),
    # Session
    "CreateSession": Slot(7, (c_void_p, ORT_PATH, c_void_p, _OUT)),
    "CreateSessionFromArray": Slot(8, (c_void_p, c_void_p, c_size_t, c_void_p, _OUT)),
    "ReleaseSession": Slot(95, (c_void_p,), None),
    "Run": Slot(
        9,
        (c_void_p, c_void_p, _STRINGS, _OUT, c_size_t, _STRINGS, c_size_t, _OUT),
    ),
    "SessionGetInputCount": Slot(30, (c_void_p, _OUT_SIZE)),
    "SessionGetOutputCount": Slot(31, (c_void_p, _OUT_SIZE)),
    "SessionGetInputTypeInfo": Slot(33, (c_void_p, c_size_t, _OUT)),
    "SessionGetOutputTypeInfo": Slot(34, (c_void_p, c_size_t, _OUT)),
    "SessionGetInputName": Slot(36, (c_void_p, c_size_t, c_void_p, _OUT)),
    "SessionGetOutputName": Slot(37, (c_void_p, c_size_t, c_void_p, _OUT)),
    # Session options
    "CreateSessionOptions": Slot(10, (_OUT,)),
    "ReleaseSessionOptions": Slot(100, (c_void_p,), None),
    "SetSessionExecutionMode": Slot(13, (c_void_p, c_int)),
    "DisableMemPattern": Slot(17, (c_void_p,)),
    "SetSessionGraphOptimizationLevel": Slot(23, (c_void_p, c_int)),
    "SetIntraOpNumThreads": Slot(24, (c_void_p, c_int)),
    "AddSessionConfigEntry": Slot(130, (c_void_p, c_char_p, c_char_p), since=13),
    "SessionOptionsAppendExecutionProvider": Slot(
        216, (c_void_p, c_char_p, _STRINGS, _STRINGS, c_size_t), since=13
    ),
    "CreateCUDAProviderOptions": Slot(205, (_OUT,), since=13),
    "ReleaseCUDAProviderOptions": Slot(208, (c_void_p,), None, since=13),
    "SessionOptionsAppendExecutionProvider_CUDA_V2": Slot(204, (c_void_p, c_void_p), since=13),
    # Run options
    "CreateRunOptions": Slot(39, (_OUT,)),
    "ReleaseRunOptions": Slot(97, (c_void_p,), None),
    "RunOptionsSetTerminate": Slot(46, (c_void_p,)),
    "RunOptionsUnsetTerminate": Slot(47, (c_void_p,)),
    # Values and their types
    "CreateCpuMemoryInfo": Slot(69, (c_int, c_int, _OUT)),
    "ReleaseMemoryInfo": Slot(94, (c_void_p,), None),
    "CreateTensorWithDataAsOrtValue": Slot(
        49, (c_void_p, c_void_p, c_size_t, POINTER(c_int64), c_size_t, c_int, _OUT)
    ),
    "GetTensorMutableData": Slot(51, (c_void_p, _OUT)),
    "GetTensorTypeAndShape": Slot(65, (c_void_p, _OUT)),
    "ReleaseValue": Slot(96, (c_void_p,), None),
    "CastTypeInfoToTensorInfo": Slot(55, (c_void_p, _OUT)),
    "ReleaseTypeInfo": Slot(98, (c_void_p,), None),
    "GetTensorElementType": Slot(60, (c_void_p, _OUT_INT)),
    "GetDimensionsCount": Slot(61, (c_void_p, _OUT_SIZE)),
    "GetDimensions": Slot(62, (c_void_p, POINTER(c_int64), c_size_t)),
    "GetSymbolicDimensions": Slot(63, (c_void_p, _STRINGS, c_size_t)),
    "ReleaseTensorTypeAndShapeInfo": Slot(99, (c_void_p,), None),
    "GetAllocatorWithDefaultOptions": Slot(78, (_OUT,)),
    "AllocatorFree": Slot(76, (c_void_p, c_void_p)),
    # What the library was built with
    "GetAvailableProviders": Slot(125, (POINTER(_STRINGS), _OUT_INT), since=13),
    "ReleaseAvailableProviders": Slot(126, (_STRINGS, c_int), since=13),
    "GetBuildInfoString": Slot(254, (), c_char_p, since=15),
}
