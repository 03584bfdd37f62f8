"""What a bundle is for."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

Os = Literal["win", "macos", "linux"]
Arch = Literal["x64", "arm64"]
Device = Literal["cpu", "cuda", "directml"]

OSES: tuple[Os, ...] = get_args(Os)
ARCHES: tuple[Arch, ...] = get_args(Arch)
DEVICES: tuple[Device, ...] = get_args(Device)


def covered(target: str, globs: Iterable[str]) -> bool:
    """Whether one of the names or globs, as manifests write them, means that target."""
    return any(fnmatch.fnmatchcase(target, glob) for glob in globs)


@dataclass(frozen=True, slots=True, order=True)
class Platform:
    """An operating system on a processor: where a program runs."""

    os: Os
    arch: Arch

    def __str__(self) -> str:
        return f"{self.os}-{self.arch}"

    @classmethod
    def parse(cls, text: str) -> Platform:
        """Read ``{os}-{arch}``; raises ``ValueError`` for anything else."""
        os, _, arch = text.partition("-")
        if os not in OSES or arch not in ARCHES:
            raise ValueError(f"expected {{{'|'.join(OSES)}}}-{{{'|'.join(ARCHES)}}}, got {text!r}")
        return cls(os, arch)


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """``{os}-{arch}-{device}``: what a bundle is made for.

    Upstream's spellings are not known here but in ``manifests/targets.toml``.
    """

    os: Os
    arch: Arch
    device: Device

    def __str__(self) -> str:
        return f"{self.os}-{self.arch}-{self.device}"

    @property
    def platform(self) -> Platform:
        """The target without its device."""
        return Platform(self.os, self.arch)

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read our own spelling; raises ``ValueError`` for anything else."""
        parts = text.split("-")
        if len(parts) == 3:
            os, arch, device = parts
            if os in OSES and arch in ARCHES and device in DEVICES:
                return cls(os, arch, device)
        raise ValueError(
            f"expected {{{'|'.join(OSES)}}}-{{{'|'.join(ARCHES)}}}-{{{'|'.join(DEVICES)}}}, "
            f"got {text!r}"
        )
