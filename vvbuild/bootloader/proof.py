"""Whether a file that was built is the bootloader that was asked for: its bytes are believed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vvbuild.binary.program import Program, look_at
from vvbuild.errors import BootloaderError
from vvbuild.model.digest import Digest
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Platform
from vvbuild.rules.shared import export_problems


def require_bootloader(
    path: Path,
    *,
    where: Platform,
    windowed: bool,
    version: str,
    hints: Mapping[str, int],
) -> Program:
    """Raise :class:`BootloaderError` unless a built file is what was asked for.

    ``windowed`` says that a Windows program must come without a console. A Windows program must
    export ``hints``, nothing else, and carry the mark of PyInstaller ``version``.
    """
    seen = look_at(path, frozenset(hints)) if path.is_file() else _missing(path)
    subsystem = ("windows" if windowed else "console") if where.os == "win" else None
    wanted = Program(path, seen.size, seen.sha256, where.os, where.arch, subsystem=subsystem)
    if (seen.os, seen.machine, seen.subsystem) != (wanted.os, wanted.machine, wanted.subsystem):
        raise _not_asked_for(path, wanted.kind, seen.kind)
    if where.os == "win":
        exports = seen.exports or {}
        problems = export_problems(exports, hints)
        problems += [f"it exports {name} as well" for name in exports if name not in hints]
        if problems:
            raise _not_asked_for(path, "the exports of bootloader_extra", "; ".join(problems))
        if seen.pyinstaller != version:
            told = f"PyInstaller {seen.pyinstaller}" if seen.pyinstaller else "no version"
            raise _not_asked_for(path, f"PyInstaller {version}", told)
    return seen


def _missing(path: Path) -> Program:
    return Program(path, ByteSize(0), Digest.of_bytes(b""), None, None, "no file")


def _not_asked_for(path: Path, expected: str, built: str) -> BootloaderError:
    return BootloaderError(
        "What was built is not the bootloader that was asked for.",
        context={"program": path.name, "expected": expected, "built": built},
    )
