"""Rules over a program: what drivers find in it, and whether it can start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from vvbuild.binary.program import Program
from vvbuild.rules.registry import Family, Found
from vvbuild.rules.shared import GPU_PREFERENCE, UPX_PACKED, export_problems


@dataclass(frozen=True, slots=True)
class ProgramEvidence:
    """A program, what it must export, and what else is known.

    ``pyinstaller`` is the version that froze it, if that is known. ``beside`` maps libraries
    in its folder to the hints that they export.
    """

    program: Program
    hints: Mapping[str, int]
    pyinstaller: str | None = None
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    target: str | None = None


rule = Family(ProgramEvidence)


@rule.about(GPU_PREFERENCE)
def gpu_preference_exports(evidence: ProgramEvidence) -> Iterator[Found]:
    """A program for Windows exports the variables by which drivers choose the strong GPU."""
    program = evidence.program
    if program.os != "win":
        return
    problems = export_problems(program.exports or {}, evidence.hints)
    if not problems:
        return
    told = {"exports": ", ".join(program.exports or {}) or "none"}
    if evidence.beside:
        libraries = ", ".join(sorted(evidence.beside))
        problems.append(f"{libraries} does, where no driver looks")
        told["exported by"] = libraries
    yield Found("; ".join(problems), program.path.name, told)


@rule.about(UPX_PACKED)
def upx_packed(evidence: ProgramEvidence) -> Iterator[Found]:
    """No program is packed with UPX."""
    if evidence.program.packed:
        yield Found("it was packed with UPX", evidence.program.path.name)


@rule(
    "bootloader-missing",
    "error",
    why="What is not a program for the target starts nowhere; a build before PyInstaller 6.14 "
    "may leave an empty file and say nothing.",
    source="pyinstaller/pyinstaller#9111",
    fix="Build it again with `vvbuild bootloader build`.",
)
def bootloader_missing(evidence: ProgramEvidence) -> Iterator[Found]:
    """The file is a program."""
    if evidence.program.os is None:
        yield Found(f"it is {evidence.program.reason}", evidence.program.path.name)


@rule(
    "bootloader-version",
    "error",
    why="A program whose bootloader is of another PyInstaller than the one that froze it builds "
    "without a word and dies at its start.",
    source="https://pyinstaller.org/en/stable/bootloader-building.html",
    fix="Build the bootloader of that very version: `vvbuild bootloader build --pyinstaller …`.",
)
def bootloader_version(evidence: ProgramEvidence) -> Iterator[Found]:
    """The bootloader is of the PyInstaller that froze the program."""
    program, wanted = evidence.program, evidence.pyinstaller
    if program.os != "win" or wanted is None or program.pyinstaller == wanted:
        return
    told = f"of PyInstaller {program.pyinstaller}" if program.pyinstaller else "without our mark"
    yield Found(
        f"its bootloader is {told}, not of PyInstaller {wanted}",
        program.path.name,
        {"bootloader": program.pyinstaller or "unknown", "expected": wanted},
    )
