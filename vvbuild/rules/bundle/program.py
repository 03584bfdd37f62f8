"""Rules over a bundle: the program that starts, and the bootloader that it is."""

from __future__ import annotations

from collections.abc import Iterator

from vvbuild.rules.bundle.wording import together
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found
from vvbuild.rules.shared import GPU_PREFERENCE, UPX_PACKED, export_problems

rule = Family(BundleEvidence)

_ENGINE = "VOICEVOX/voicevox_engine"
_EDITOR = "VOICEVOX/voicevox, src/backend/electron/manager/vvppManager.ts"


@rule(
    "program-missing",
    "error",
    why="The editor starts the program that the manifest names; without it nothing runs.",
    source=_EDITOR,
    fix="Freeze again; the recipe and the spec must agree on the program's name.",
)
def program_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """The program lies in the bundle's root and is not empty."""
    program = evidence.files.get(evidence.program)
    if program is None:
        yield Found(f"there is no program {evidence.program!r} in the bundle's root")
    elif program.size == 0:
        yield Found("the program is empty", evidence.program)


@rule(
    "bootloader-not-ours",
    "error",
    why="The frozen program must carry the bootloader that this build made: the stock one lacks "
    "the exports that choose the strong GPU.",
    source=f"{_ENGINE}#502",
    fix="Freeze again with vvbuild; do not replace the program afterwards.",
)
def bootloader_not_ours(evidence: BundleEvidence) -> Iterator[Found]:
    """The program's machine code is the built bootloader's."""
    promised = evidence.section("bootloader").get("text_sha256")
    program = evidence.files.get(evidence.program)
    if not promised or program is None or program.text is None:
        return
    if program.text.hex != promised:
        yield Found(
            "the program's machine code is not that of the bootloader in vvbuild.json",
            program.path,
            {"expected": str(promised), "found": program.text.hex},
        )


@rule.about(GPU_PREFERENCE)
def gpu_preference_exports(evidence: BundleEvidence) -> Iterator[Found]:
    """The program of a bundle for Windows exports the variables by which drivers choose."""
    program = evidence.files.get(evidence.program)
    if evidence.os != "win" or program is None or program.exports is None:
        return
    if evidence.target is not None and evidence.target.device == "cpu":
        # Nothing there asks for a GPU.
        return
    hints = {row.name: row.value for row in evidence.tables.hints.export}
    problems = export_problems(program.exports, hints)
    if problems:
        exports = ", ".join(program.exports) or "none"
        yield Found("; ".join(problems), program.path, {"exports": exports})


@rule.about(UPX_PACKED)
def upx_packed(evidence: BundleEvidence) -> Iterator[Found]:
    """No program or library is packed with UPX."""
    packed = [file.path for file in evidence.binaries() if file.packed]
    if packed:
        yield together(packed, "it was packed with UPX", "{n} files were packed with UPX")
