"""ONNX Runtime's C API through ctypes, with nothing but the standard library.

One binding serves the sample engine, the probe of a finished bundle and users of this
package. It imports nothing else of vvbuild, so that it can be put into a frozen program::

    library = Library("/opt/engine/libonnxruntime.so")
    with Environment(library) as environment, Session(environment, model) as session:
        with RunOptions(library) as options:
            result = session.run({"x": Tensor.of(DType.FLOAT32, [1.0, 2.0])}, run_options=options)
            print(result["y"].values.tolist())

Objects may be shared between threads. ``close()`` during a run is safe: what a run still
uses is released when the run ends.
"""

from vvbuild.ort.environment import Environment, LogSeverity
from vvbuild.ort.errors import ClosedError, ErrorCode, LibraryError, OrtError, Terminated
from vvbuild.ort.library import DEFAULT_API_VERSION, Library
from vvbuild.ort.run_options import RunOptions
from vvbuild.ort.session import GraphOptimization, RunResult, Session, SessionOptions, ValueInfo
from vvbuild.ort.tensor import DType, Tensor

__all__ = [
    "DEFAULT_API_VERSION",
    "ClosedError",
    "DType",
    "Environment",
    "ErrorCode",
    "GraphOptimization",
    "Library",
    "LibraryError",
    "LogSeverity",
    "OrtError",
    "RunOptions",
    "RunResult",
    "Session",
    "SessionOptions",
    "Tensor",
    "Terminated",
    "ValueInfo",
]
