"""What rules over several kinds of evidence share: one name, one reason, one way out."""

from __future__ import annotations

from collections.abc import Mapping

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
GPU_PREFERENCE = About(
    "gpu-preference-exports",
    "error",
    why="On a PC with two GPUs drivers choose the strong one for programs that ask for it, by "
    "variables that the program file itself exports; without them DirectML gets the weak one.",
    source="VOICEVOX/voicevox_engine#502",
    fix="Freeze with the bootloader that `vvbuild bootloader build` makes, without UPX.",
)
UPX_PACKED = About(
    "upx-packed",
    "error",
    why="A packed program hides its exports from drivers and is what virus scanners stop first.",
    source="https://pyinstaller.org/en/stable/usage.html#using-upx",
    fix="Set `upx=False` in the spec.",
)


def export_problems(exports: Mapping[str, int | None], hints: Mapping[str, int]) -> list[str]:
    """What keeps drivers from reading the hints, a clause each; none if all is well."""
    problems = []
    for name, value in hints.items():
        if name not in exports:
            problems.append(f"it does not export {name}")
        elif exports[name] != value:
            problems.append(f"its {name} is {exports[name]}, not {value}")
    return problems
