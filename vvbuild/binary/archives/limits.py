"""How large an archive may grow."""

from __future__ import annotations

from dataclasses import dataclass

# Below this many bytes, no ratio is suspicious: a page of zeros packs to almost nothing.
_HARMLESS = 64 << 20


@dataclass(frozen=True, slots=True)
class UnpackLimits:
    """The most members, the most bytes of all of them, and unpacked bytes per packed byte.

    The largest archives that VOICEVOX's releases and NVIDIA's wheels are made of unpack to less
    than 4 GiB at a ratio below 10.
    """

    files: int = 200_000
    bytes: int = 8 << 30
    ratio: float = 250.0

    def objection(self, members: int, unpacked: int, packed: int) -> str | None:
        """Why these totals are too much, or ``None``."""
        if members > self.files:
            return f"more than {self.files} members"
        if unpacked > self.bytes:
            return f"more than {self.bytes} bytes when unpacked"
        if unpacked > _HARMLESS and unpacked > packed * self.ratio:
            return f"more than {self.ratio:g} bytes from each packed byte"
        return None
