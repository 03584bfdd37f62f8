"""Facts of PE files (being written by BOOT-PROOF, who replaces this file as a whole)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PeImport:
    dll: str


@dataclass(frozen=True, slots=True)
class PeFacts:
    machine: str
    imports: tuple[PeImport, ...] = ()
    delay_imports: tuple[PeImport, ...] = ()


def read_pe(path: Path) -> PeFacts:
    return PeFacts("x64")
