"""A program as its bytes show it: for where, with which exports, and whose bootloader it is.

Facts only. What drivers make of the exports, and whether the program is what was asked for, is
for others to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vvbuild.binary.elf import ElfFacts
from vvbuild.binary.identify import read_binary
from vvbuild.binary.macho import MachOFacts
from vvbuild.binary.pe import PeFacts
from vvbuild.binary.pe_exports import read_exported_words, read_exports
from vvbuild.binary.upx import read_upx
from vvbuild.errors import BinaryMalformedError
from vvbuild.model.digest import Digest
from vvbuild.model.size import ByteSize
from vvbuild.runtime.files import hash_file

MARK = "vvbuild bootloader of PyInstaller "
"""What our bootloaders for Windows hold as text, followed by a version."""
_CHUNK, _LONGEST = 1 << 20, 64
# PyInstaller appends gigabytes of archive; the bootloader itself has 100 to 500 KB.
_MOST_BYTES = 32 << 20
_MARK = re.compile(MARK.encode() + rb"([0-9][0-9A-Za-z.+!-]{0,30})\0")
_WINDOWS = {"console": "with a console", "windows": "without a console"}
_FORMATS: Mapping[type, str] = {ElfFacts: "linux", PeFacts: "win", MachOFacts: "macos"}


@dataclass(frozen=True, slots=True)
class Program:
    """A program as its bytes show it.

    ``os`` and ``machine`` are ``None`` where it is no program; ``reason`` then says what it is
    instead. ``subsystem`` is a Windows program's. ``exports`` has the 32-bit value of each
    exported variable that was asked for, and ``None`` for every other export.
    ``pyinstaller`` is the version that our mark tells, ``packed`` whether UPX packed it.
    """

    path: Path
    size: ByteSize
    sha256: Digest
    os: str | None
    machine: str | None
    reason: str = ""
    subsystem: str | None = None
    exports: Mapping[str, int | None] | None = None
    pyinstaller: str | None = None
    packed: bool = False

    @property
    def kind(self) -> str:
        """In words, such as ``x64, with a console``."""
        if self.machine is None:
            return self.reason
        window = _WINDOWS.get(self.subsystem or "", f"of subsystem {self.subsystem}")
        return f"{self.machine}, {window}" if self.subsystem else self.machine


def look_at(path: Path, wanted: frozenset[str]) -> Program:
    """Read what a program's bytes say; ``wanted`` are variables whose values matter.

    Raises ``OSError`` where it cannot be read; that it is no program is told, not raised.
    """
    size = path.stat().st_size
    plain = Program(path, ByteSize(size), hash_file(path), None, None)
    if size == 0:
        # What waf before PyInstaller 6.14 leaves when its strip runs beside its copying.
        return _no_program(plain, "an empty file")
    try:
        binary = read_binary(path)
        if binary is None:
            return _no_program(plain, "no program")
        if isinstance(binary, PeFacts):
            return _look_at_pe(plain, binary, wanted)
    except BinaryMalformedError as error:
        return _no_program(plain, error.message)
    if isinstance(binary, ElfFacts):
        if binary.interpreter is None:
            return _no_program(plain, "a static program, which cannot load Python")
        machine = binary.machine
    else:
        machine = " and ".join(binary.machines)
    return Program(
        path, plain.size, plain.sha256, _FORMATS[type(binary)], machine,
        packed=read_upx(path) is not None,
    )  # fmt: skip


def _look_at_pe(plain: Program, facts: PeFacts, wanted: frozenset[str]) -> Program:
    found = read_exports(plain.path)
    values = read_exported_words(plain.path, wanted)
    names = found.names if found is not None else ()
    return Program(
        plain.path,
        plain.size,
        plain.sha256,
        "win",
        facts.machine,
        subsystem=facts.subsystem,
        exports={name: values.get(name) for name in names},
        pyinstaller=read_mark(plain.path),
        packed=read_upx(plain.path) is not None,
    )


def _no_program(plain: Program, reason: str) -> Program:
    return Program(plain.path, plain.size, plain.sha256, None, None, reason)


def read_mark(program: Path) -> str | None:
    """The PyInstaller whose bootloader a program is, ``None`` for one without our mark."""
    with program.open("rb") as stream:
        rest, left = b"", _MOST_BYTES
        while left > 0 and (chunk := stream.read(min(_CHUNK, left))):
            left -= len(chunk)
            if (match := _MARK.search(rest + chunk)) is not None:
                return match[1].decode()
            rest = chunk[-_LONGEST:]
    return None
