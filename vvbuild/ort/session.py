"""A loaded model and its runs."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from ctypes import c_char_p, c_void_p
from typing import Any

from vvbuild.ort._handle import Handle, Owner
from vvbuild.ort._table import ORT_PATH
from vvbuild.ort._values import ValueInfo, cpu_memory, read_value, value_infos, wrap_tensor
from vvbuild.ort.environment import Environment
from vvbuild.ort.library import Library
from vvbuild.ort.run_options import RunOptions
from vvbuild.ort.session_options import GraphOptimization, SessionOptions
from vvbuild.ort.tensor import Tensor

__all__ = ["GraphOptimization", "RunResult", "Session", "SessionOptions", "ValueInfo"]


class RunResult(Mapping[str, Tensor]):
    """The outputs of a finished run by name, in the order in which they were asked for.

    ``late_terminate``: a terminate was asked for before the run returned, but came too late
    to stop it (ONNX Runtime reports success then). The outputs are whole; whoever cancelled
    no longer wants them.
    """

    def __init__(self, outputs: Mapping[str, Tensor], *, late_terminate: bool) -> None:
        self._outputs = dict(outputs)
        self.late_terminate = late_terminate

    def __getitem__(self, name: str) -> Tensor:
        return self._outputs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)


class Session(Owner):
    """A model ready to run, from its bytes or from a path.

    Bytes are the better choice: nothing depends on the file afterwards. A path is needed
    for a model that keeps its weights in files beside it. Loading cannot be cancelled.
    Raises :class:`~vvbuild.ort.errors.OrtError` for a model that ONNX Runtime refuses.
    """

    def __init__(
        self,
        environment: Environment,
        model: bytes | bytearray | memoryview | str | os.PathLike[str],
        options: SessionOptions | None = None,
    ) -> None:
        self._library = environment.library
        # The environment must outlive the session, whoever closes what first.
        with ExitStack() as undo:
            env = undo.enter_context(environment.use())
            native = undo.enter_context((options or SessionOptions()).native(self._library))
            session = _create(self._library, env, model, native)
            undo.callback(self._library.call, "ReleaseSession", session)
            self.inputs = value_infos(self._library, session, "Input")
            self.outputs = value_infos(self._library, session, "Output")
            memory = cpu_memory(self._library)
            undo.callback(self._library.call, "ReleaseMemoryInfo", memory)
            kept = undo.pop_all()
        self._memory = memory
        self._handle = Handle("session", session, lambda _: kept.close())

    def run(
        self,
        feeds: Mapping[str, Tensor],
        outputs: Sequence[str] | None = None,
        *,
        run_options: RunOptions | None = None,
    ) -> RunResult:
        """Run the model; other threads go on meanwhile, and may run it, too.

        ``outputs`` names what is wanted (all by default). Raises
        :class:`~vvbuild.ort.errors.Terminated` when ``run_options`` ended the run,
        :class:`~vvbuild.ort.errors.OrtError` for everything else that ONNX Runtime refuses,
        :class:`~vvbuild.ort.errors.ClosedError` after ``close()``.
        """
        names = [info.name for info in self.outputs] if outputs is None else list(outputs)
        with ExitStack() as stack:
            session = stack.enter_context(self._handle.use())
            mark = stack.enter_context(run_options.in_run()) if run_options else None
            values = [
                stack.enter_context(wrap_tensor(self._library, self._memory, tensor))
                for tensor in feeds.values()
            ]
            results = (c_void_p * len(names))()
            stack.callback(self._release_values, results)
            self._library.check(
                "Run",
                session,
                mark.address if mark else None,
                _strings(feeds),
                (c_void_p * len(values))(*values),
                len(values),
                _strings(names),
                len(names),
                results,
            )
            late = mark is not None and mark.terminate_seen()
            read = {
                name: read_value(self._library, value or 0, name)
                for name, value in zip(names, results, strict=True)
            }
        return RunResult(read, late_terminate=late)

    def _release_values(self, values: Any) -> None:
        for value in values:
            if value:
                self._library.call("ReleaseValue", value)


def _create(
    library: Library,
    environment: int,
    model: bytes | bytearray | memoryview | str | os.PathLike[str],
    options: int,
) -> int:
    if isinstance(model, bytes | bytearray | memoryview):
        content = bytes(model)
        data = ctypes.cast(c_char_p(content), c_void_p)
        return library.create("CreateSessionFromArray", environment, data, len(content), options)
    path = os.fspath(model)
    encoded = path if ORT_PATH is ctypes.c_wchar_p else os.fsencode(path)
    return library.create("CreateSession", environment, encoded, options)


def _strings(names: Mapping[str, object] | Sequence[str]) -> Any:
    return (c_char_p * len(names))(*(name.encode() for name in names))
