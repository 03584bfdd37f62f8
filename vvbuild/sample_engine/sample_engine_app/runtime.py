"""Finding ONNX Runtime: in the engine's own directories, and nowhere else."""

from __future__ import annotations

import sys
from pathlib import Path

from vvbuild.ort import Library, LibraryError

from .errors import StartError

LIBRARY_NAMES = {"win32": "onnxruntime.dll", "darwin": "libonnxruntime.dylib"}
GPU_PROVIDERS = ("CUDAExecutionProvider", "DmlExecutionProvider")


def load_runtime(directories: tuple[Path, ...]) -> Library:
    """Load ONNX Runtime from the first directory that has it; raises :class:`StartError`."""
    name = LIBRARY_NAMES.get(sys.platform, "libonnxruntime.so")
    for directory in directories:
        path = directory.resolve() / name
        if path.is_file():
            _preload_directml(path.parent)
            try:
                return Library(path)
            except LibraryError as error:
                raise StartError(str(error)) from error
    looked = ", ".join(str(directory) for directory in directories)
    raise StartError(f"There is no ONNX Runtime library ({name}) in {looked}.")


def gpu_provider(library: Library) -> str:
    """The provider that ``--use_gpu`` means; raises :class:`StartError` if there is none."""
    available = library.available_providers()
    for provider in GPU_PROVIDERS:
        if provider in available:
            return provider
    raise StartError(
        f"--use_gpu: {library.path} (ONNX Runtime {library.version}) has neither CUDA nor"
        f" DirectML, only {', '.join(available)}."
    )


def _preload_directml(directory: Path) -> None:
    """Have Windows take our DirectML.dll and not the system's, which can be much older."""
    path = directory / "DirectML.dll"
    if sys.platform == "win32" and path.is_file():
        import ctypes

        try:
            ctypes.WinDLL(str(path))
        except OSError as error:
            raise StartError(f"Could not load {path}: {error}") from error
