"""Whether a file is the bootloader that was asked for: its bytes are believed, no exit status."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vvbuild.binary.elf import is_elf, read_elf
from vvbuild.errors import BinaryMalformedError, BootloaderError

_PE_MACHINES = {0x8664: "x64", 0xAA64: "arm64"}
_MACH_O_MAGIC = b"\xcf\xfa\xed\xfe"  # 64 bits, little-endian, one architecture
_MACH_O_MACHINES = {0x0100_0007: "x64", 0x0100_000C: "arm64"}
# Of the PE header: Windows opens a console for a program of the third kind only.
_SUBSYSTEMS = {2: "without a console", 3: "with a console"}
_SUBSYSTEM_OFFSET = 92


@dataclass(frozen=True, slots=True)
class _Seen:
    """``machine`` as our targets call it; ``window`` is known for Windows programs only."""

    machine: str
    window: str | None = None


def check_program(program: Path, *, machine: str, windowed: bool) -> None:
    """Raise :class:`BootloaderError` unless ``program`` runs on ``machine`` as it should.

    ``windowed`` says that a Windows program must come without a console.
    """
    seen = _look_at(program)
    window = _SUBSYSTEMS[2 if windowed else 3]
    if seen.machine != machine or seen.window not in (None, window):
        raise BootloaderError(
            "What was built is not the bootloader that was asked for.",
            context={
                "program": program.name,
                "expected": f"{machine}, {window}" if seen.window else machine,
                "built": f"{seen.machine}, {seen.window}" if seen.window else seen.machine,
            },
        )


def _look_at(program: Path) -> _Seen:
    if not program.is_file():
        return _Seen("no file")
    if program.stat().st_size == 0:
        # What waf before PyInstaller 6.14 leaves when its strip runs beside its copying.
        return _Seen("an empty file")
    if is_elf(program):
        return _look_at_elf(program)
    with program.open("rb") as stream:
        start = stream.read(64)
        if start[:4] == _MACH_O_MAGIC:
            machine = int.from_bytes(start[4:8], "little")
            return _Seen(_MACH_O_MACHINES.get(machine, hex(machine)))
        if start[:2] != b"MZ" or len(start) < 64:
            return _Seen("no program")
        stream.seek(int.from_bytes(start[60:64], "little"))
        header = stream.read(_SUBSYSTEM_OFFSET + 2)
    if header[:4] != b"PE\0\0" or len(header) < _SUBSYSTEM_OFFSET + 2:
        return _Seen("no program")
    return _look_at_pe(header)


def _look_at_elf(program: Path) -> _Seen:
    try:
        facts = read_elf(program)
    except BinaryMalformedError as error:
        return _Seen(error.message)
    if facts.interpreter is None:
        return _Seen("a static program, which cannot load Python")
    return _Seen(facts.machine)


def _look_at_pe(header: bytes) -> _Seen:
    machine = int.from_bytes(header[4:6], "little")
    subsystem = int.from_bytes(header[_SUBSYSTEM_OFFSET:], "little")
    return _Seen(
        _PE_MACHINES.get(machine, hex(machine)),
        _SUBSYSTEMS.get(subsystem, f"of subsystem {subsystem}"),
    )
