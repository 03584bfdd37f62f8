"""The command line, with the names that VOICEVOX ENGINE uses."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Arguments:
    """How the engine is to run. ``port`` is ``None`` for the manifest's own."""

    host: str
    port: int | None
    use_gpu: bool
    threads: int
    voice_dirs: tuple[Path, ...]
    runtime_dirs: tuple[Path, ...]
    utf8_log: bool


def parse(argv: Sequence[str], environ: Mapping[str, str]) -> Arguments:
    """Read the command line; what it leaves open comes from ``VV_*`` variables.

    Ends the process with status 2 for what cannot be meant.
    """
    parser = _parser(environ)
    given = parser.parse_args(argv)
    if not 0 <= given.cpu_num_threads <= 1024:
        parser.error("--cpu_num_threads must lie between 0 and 1024")
    return Arguments(
        host=given.host,
        port=given.port,
        use_gpu=given.use_gpu or _truth(parser, environ, "VV_USE_GPU"),
        threads=given.cpu_num_threads,
        voice_dirs=tuple(given.voicelib_dir),
        runtime_dirs=tuple(given.runtime_dir),
        utf8_log=given.output_log_utf8 or _truth(parser, environ, "VV_OUTPUT_LOG_UTF8"),
    )


def _parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="run", description="A sample of a VOICEVOX ENGINE.")
    parser.add_argument("--host", default=environ.get("VV_HOST") or "127.0.0.1")
    # A default that is text goes through type=int, too, so a wrong variable is reported.
    parser.add_argument("--port", type=int, default=environ.get("VV_PORT") or None)
    parser.add_argument("--use_gpu", action="store_true", help="use CUDA or DirectML")
    parser.add_argument(
        "--cpu_num_threads",
        type=int,
        default=environ.get("VV_CPU_NUM_THREADS") or 0,
        help="how many requests are computed at once (at least 2; 0: half of the processors)",
    )
    parser.add_argument(
        "--voicelib_dir",
        type=Path,
        action="append",
        default=[],
        help="a directory with model/*.vvm instead of the engine's own",
    )
    parser.add_argument(
        "--runtime_dir",
        type=Path,
        action="append",
        default=[],
        help="a directory with ONNX Runtime instead of the engine's own",
    )
    parser.add_argument("--output_log_utf8", action="store_true", help="write the log in UTF-8")
    # Always on here; taken so that one command line starts this engine and a real one.
    parser.add_argument("--enable_cancellable_synthesis", action="store_true")
    parser.add_argument("--init_processes", type=int, help="without effect: there is one process")
    return parser


def _truth(parser: argparse.ArgumentParser, environ: Mapping[str, str], name: str) -> bool:
    value = environ.get(name, "")
    if value not in ("", "0", "1"):
        parser.error(f"{name} must be 0 or 1, not {value!r}")
    return value == "1"
