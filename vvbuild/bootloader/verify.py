"""``bootloader verify``: what a program's bytes prove, and what drivers will make of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from vvbuild.binary.identify import identify
from vvbuild.binary.pe_exports import read_exports
from vvbuild.binary.program import Program, look_at
from vvbuild.errors import BinaryMalformedError, UsageError
from vvbuild.manifest.bootloader import hint_table, hint_values
from vvbuild.model.bootloader import HintRow
from vvbuild.model.finding import Finding
from vvbuild.rules.bootloader import ProgramEvidence
from vvbuild.rules.registry import judge

_DESCRIPTION = "vvbuild.json"
_MOST_JSON_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Hint:
    """A hint, and its value in the program: ``None`` where it is not exported."""

    row: HintRow
    value: int | None

    @property
    def effect(self) -> str:
        """What its vendor's driver will do."""
        if self.value == self.row.value:
            return "asks for the strong GPU"
        return "says nothing" if self.value is None else "does not ask for it"


@dataclass(frozen=True, slots=True)
class Proof:
    """What was seen. ``pyinstaller`` is what froze the program, where that is known."""

    program: Program
    hints: tuple[Hint, ...]
    pyinstaller: str | None
    findings: tuple[Finding, ...]


def verify_bootloader(path: Path, *, pyinstaller: str | None = None) -> Proof:
    """Prove a bootloader, or a program frozen with one.

    ``pyinstaller`` is the version that it must serve; without it a ``vvbuild.json`` beside the
    program tells. Raises :class:`UsageError` for what is no file.
    """
    if not path.is_file():
        raise UsageError(f"{path} is not a file.", hint="Name a program, such as run.exe.")
    hints = hint_values()
    program = look_at(path, frozenset(hints))
    version = pyinstaller or _told_beside(path)
    beside = dict(_beside(path, frozenset(hints))) if program.os == "win" else {}
    evidence = ProgramEvidence(program, hints, version, beside)
    exports = program.exports or {}
    rows = hint_table().export if program.os == "win" else ()
    return Proof(
        program,
        tuple(Hint(row, exports.get(row.name)) for row in rows),
        version,
        judge(evidence),
    )


def _told_beside(path: Path) -> str | None:
    """The PyInstaller that the bundle's own description names."""
    description = path.with_name(_DESCRIPTION)
    try:
        if description.stat().st_size > _MOST_JSON_BYTES:
            return None
        document = msgspec.json.decode(description.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    told = document.get("bootloader") if isinstance(document, dict) else None
    version = told.get("pyinstaller") if isinstance(told, dict) else None
    return version if isinstance(version, str) else None


def _beside(path: Path, hints: frozenset[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Libraries in the program's folder that export hints: the right words in the wrong place."""
    for each in sorted(path.parent.glob("*.[dD][lL][lL]")):
        try:
            if not each.is_file() or identify(each) != "pe":
                continue
            found = read_exports(each)
        except (OSError, BinaryMalformedError):
            continue
        names = tuple(name for name in (found.names if found else ()) if name in hints)
        if names:
            yield each.name, names
