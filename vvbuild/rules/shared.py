"""What rules say of themselves that pins and bytes share: one name, one reason, one way out."""

from __future__ import annotations

from vvbuild.rules.registry import About

MODELS_FORMAT = About(
    "models-format",
    "error",
    why="A core refuses voice models of a format that it does not know, and stops; a page that a "
    "server answered with instead is none at all.",
    source="VOICEVOX/voicevox_core#1400",
    fix="Pin models of the core's series, and fetch them again.",
)
MODELS_MIXED = About(
    "models-mixed",
    "error",
    why="The downloader takes every voice model of a release, and from 0.16.2 on a release holds "
    "those of VOICEVOX Nemo too: an engine would speak with voices whose terms it does not show.",
    source="VOICEVOX/voicevox_engine#1830",
    fix="Set `pattern` of the models, such as [!n]* for VOICEVOX and n* for Nemo.",
)
GPU_ARCH_UNCOVERED = About(
    "gpu-arch-uncovered",
    "warning",
    why="Without machine code for a GPU, or code that its driver can translate, the first "
    "inference fails with `no kernel image is available`.",
    source="VOICEVOX/voicevox_engine#1870",
    fix="Tell users which cards are left out, or pin an ONNX Runtime that is built for them.",
)
