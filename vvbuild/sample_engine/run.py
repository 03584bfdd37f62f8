"""The program ``run``: finds out where the engine lies, and starts it."""

from __future__ import annotations

import sys
from pathlib import Path

from sample_engine_app.main import main  # type: ignore[import-not-found]


def engine_root() -> Path:
    """Where the manifest, the resources, the models and ONNX Runtime lie."""
    program = sys.executable if getattr(sys, "frozen", False) else __file__
    return Path(program).resolve().parent


if __name__ == "__main__":
    sys.exit(main(engine_root()))
