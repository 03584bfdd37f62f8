"""Start-up: from the command line to a running server."""

from __future__ import annotations

import io
import logging
import os
import sys
from contextlib import ExitStack
from pathlib import Path

from vvbuild.ort import Library

from .arguments import Arguments, parse
from .errors import StartError
from .runtime import gpu_provider, load_runtime
from .signals import exit_on_signals

logger = logging.getLogger("sample_engine")


def main(root: Path) -> int:
    """Run the engine whose files lie in ``root``; gives the exit status."""
    exit_on_signals()
    arguments = parse(sys.argv[1:], os.environ)
    _set_up_log(utf8=arguments.utf8_log)
    try:
        _run(root, arguments)
    except StartError as error:
        logger.error("%s", error)
        return 1
    return 0


def _run(root: Path, arguments: Arguments) -> None:
    library = load_runtime(arguments.runtime_dirs or (root,))
    logger.info("ONNX Runtime %s from %s", library.version, library.path)
    providers = (gpu_provider(library),) if arguments.use_gpu else ()
    _serve(root, arguments, library, providers)


def _serve(root: Path, arguments: Arguments, library: Library, providers: tuple[str, ...]) -> None:
    # FastAPI takes a second to import; --help and a missing library need not wait for it.
    from .app import create_app
    from .catalogue import Catalogue
    from .schema import SupportedDevices
    from .server import serve
    from .synthesizer import Synthesizer
    from .voice_model import load_models
    from .workers import Workers

    with ExitStack() as stack:
        models = load_models(arguments.voice_dirs or (root,))
        synthesizer = Synthesizer(library, models, providers)
        stack.callback(synthesizer.close)
        catalogue = Catalogue(root, synthesizer.speakers)
        workers = Workers(library, _worker_count(arguments.threads))
        stack.callback(workers.close)
        available = library.available_providers()
        devices = SupportedDevices(
            cpu=True,
            cuda="CUDAExecutionProvider" in available,
            dml="DmlExecutionProvider" in available,
        )
        app = create_app(catalogue, synthesizer, workers, devices)
        port = catalogue.port if arguments.port is None else arguments.port
        serve(app, workers, arguments.host, port)


def _worker_count(threads: int) -> int:
    return max(2, threads or (os.cpu_count() or 1) // 2)


def _set_up_log(*, utf8: bool) -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8" if utf8 else None, errors="backslashreplace")
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s: %(message)s")
