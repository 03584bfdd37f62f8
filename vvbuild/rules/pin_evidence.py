"""What rules over pins look at: the versions of one release for one target, and the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from vvbuild.model.compat import Compat, CoreRow, CudaRow, LibrariesRow
from vvbuild.model.release import ComponentName, ComponentSource, Flavour
from vvbuild.model.target import Target
from vvbuild.model.version import numbers


@dataclass(frozen=True, slots=True)
class Pin:
    """A component's version for the target; ``key`` is the manifest's key that says it.

    ``also`` are further versions that the bundle has, which only extra cores are.
    """

    version: str
    source: ComponentSource
    key: str
    flavour: Flavour | None = None
    provided_by: ComponentName | None = None
    has_files: bool = False
    also: tuple[str, ...] = ()
    pattern: str | None = None

    @property
    def library(self) -> str:
        """What ONNX Runtime's library of this flavour is called, without ``lib`` and ending."""
        return "voicevox_onnxruntime" if self.flavour == "voicevox" else "onnxruntime"


@dataclass(frozen=True, slots=True)
class PinnedReference:
    """Where a component's file is fetched from, as the manifest spells it."""

    component: ComponentName
    text: str
    key: str


@dataclass(frozen=True, slots=True)
class PinnedCore:
    """One of the cores of a bundle, and what the tables know of it."""

    version: str
    key: str
    row: CoreRow | None


@dataclass(frozen=True)
class PinEvidence:
    """A release for one target. ``targets`` are all that the release is built for.

    ``runner`` is the machine that builds it; ``references`` are those of its files.
    """

    release: str
    target: Target
    targets: tuple[str, ...]
    engine: str
    python: str
    pins: Mapping[str, Pin]
    tables: Compat
    runner: str | None = None
    references: tuple[PinnedReference, ...] = ()

    def version(self, component: ComponentName) -> str | None:
        """The pinned version, ``None`` where the target has no such component."""
        pin = self.pins.get(component)
        return pin.version if pin else None

    @cached_property
    def cuda_row(self) -> CudaRow | None:
        """What the tables know of this ONNX Runtime with CUDA; ``None`` for other devices."""
        pin = self.pins.get("onnxruntime")
        if pin is None or self.target.device != "cuda":
            return None
        return self.tables.onnxruntime.cuda_row(pin.flavour, pin.version)

    @cached_property
    def core_row(self) -> CoreRow | None:
        """What the tables know of this core."""
        version = self.version("core")
        return self.tables.core.row(version) if version else None

    @cached_property
    def cores(self) -> tuple[PinnedCore, ...]:
        """Every core of the bundle that has a version, the newest first."""
        found = [
            PinnedCore(version, pin.key, self.tables.core.row(version))
            for name in ("core", "extra-cores")
            if (pin := self.pins.get(name)) is not None
            for version in (pin.version, *pin.also)
            if numbers(version) is not None
        ]
        return tuple(sorted(found, key=lambda each: numbers(each.version) or (), reverse=True))

    @cached_property
    def libraries_row(self) -> LibrariesRow | None:
        """What the tables know of these additional libraries."""
        version = self.version("additional-libraries")
        return self.tables.libraries.row(version) if version else None


@dataclass(frozen=True, slots=True)
class WaiverUse:
    """A waiver of a release, and what became of it.

    ``unknown`` is the sentence about a rule that there is not; ``used`` is also what waives a
    finding over other evidence than was looked at.
    """

    rule: str
    targets: tuple[str, ...]
    key: str
    reason: str
    until: date | None
    expired: bool
    used: bool
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class WaiverEvidence:
    """The waivers of a release; ``complete`` when all that they could waive was looked at."""

    release: str
    waivers: tuple[WaiverUse, ...]
    today: date
    complete: bool
    target: None = None
