"""How a session is to be made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ctypes import c_char_p
from dataclasses import dataclass, field
from enum import IntEnum

from vvbuild.ort.library import Library

# What GetAvailableProviders calls them, and what the general appending function does.
_GENERIC_NAMES = {"DmlExecutionProvider": "DML"}
_SEQUENTIAL = 0


class GraphOptimization(IntEnum):
    """How much ONNX Runtime may rewrite the graph when it loads it."""

    NONE = 0
    BASIC = 1
    EXTENDED = 2
    ALL = 99


@dataclass(frozen=True)
class SessionOptions:
    """Options of a session.

    ``intra_op_threads``: threads within one node (``None`` or 0: ONNX Runtime's choice).
    ``providers``: execution providers before the CPU, best first, by the names that
    :meth:`Library.available_providers` gives; CUDA and DirectML are known, another name is
    passed on as it is. ``config``: session configuration entries.
    """

    intra_op_threads: int | None = None
    graph_optimization: GraphOptimization = GraphOptimization.ALL
    providers: tuple[str, ...] = ()
    config: Mapping[str, str] = field(default_factory=dict)

    @contextmanager
    def native(self, library: Library) -> Iterator[int]:
        """The address of an ``OrtSessionOptions`` with these settings, for the block.

        Raises :class:`~vvbuild.ort.errors.OrtError` for what the library refuses, such as a
        provider that it was not built with or whose own library it cannot load.
        """
        address = library.create("CreateSessionOptions")
        try:
            self._apply(library, address)
            yield address
        finally:
            library.call("ReleaseSessionOptions", address)

    def _apply(self, library: Library, address: int) -> None:
        if self.intra_op_threads is not None:
            library.check("SetIntraOpNumThreads", address, self.intra_op_threads)
        library.check("SetSessionGraphOptimizationLevel", address, int(self.graph_optimization))
        for key, value in self.config.items():
            library.check("AddSessionConfigEntry", address, key.encode(), value.encode())
        for provider in self.providers:
            _append_provider(library, address, provider)


def _append_provider(library: Library, address: int, provider: str) -> None:
    if provider == "CPUExecutionProvider":
        return  # it is always the last one by itself
    if provider == "CUDAExecutionProvider":
        _append_cuda(library, address)
        return
    if provider == "DmlExecutionProvider":
        # DirectML runs one node after the other and without planned memory only.
        library.check("DisableMemPattern", address)
        library.check("SetSessionExecutionMode", address, _SEQUENTIAL)
    name = _GENERIC_NAMES.get(provider, provider.removesuffix("ExecutionProvider"))
    none = (c_char_p * 0)()
    library.check("SessionOptionsAppendExecutionProvider", address, name.encode(), none, none, 0)


def _append_cuda(library: Library, address: int) -> None:
    cuda = library.create("CreateCUDAProviderOptions")
    try:
        library.check("SessionOptionsAppendExecutionProvider_CUDA_V2", address, cuda)
    finally:
        library.call("ReleaseCUDAProviderOptions", cuda)
