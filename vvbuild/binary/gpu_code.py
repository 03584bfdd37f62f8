"""GPU code in a file (being written by GPU-CODE, who replaces this file as a whole)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class GpuCode:
    sass: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()


def read_gpu_code(path: Path) -> GpuCode | None:
    return None
