"""Rules over the bytes of a bundle, a module for each family."""

from __future__ import annotations

from vvbuild.rules.bundle import (  # noqa: F401 - they register their rules
    binaries,
    contents,
    engine,
    floors,
    linking,
    manifest,
    members,
    models,
    names,
    nvidia,
    onnxruntime,
    papers,
    program,
    versions,
    windows,
)
