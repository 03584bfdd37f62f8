"""What rules over pins look at: the versions of one release for one target, and the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from vvbuild.model.compat import Compat, CoreRow, CudaRow, LibrariesRow
from vvbuild.model.release import ComponentName, ComponentSource, Flavour
from vvbuild.model.target import Target


@dataclass(frozen=True, slots=True)
class Pin:
    """A component's version for the target; ``key`` is the manifest's key that says it."""

    version: str
    source: ComponentSource
    key: str
    flavour: Flavour | None = None
    provided_by: ComponentName | None = None
    has_files: bool = False


@dataclass(frozen=True)
class PinEvidence:
    """A release for one target. ``targets`` are all that the release is built for."""

    release: str
    target: Target
    targets: tuple[str, ...]
    engine: str
    python: str
    pins: Mapping[str, Pin]
    tables: Compat

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
    def libraries_row(self) -> LibrariesRow | None:
        """What the tables know of these additional libraries."""
        version = self.version("additional-libraries")
        return self.tables.libraries.row(version) if version else None


@dataclass(frozen=True, slots=True)
class WaiverUse:
    """A waiver of a release, and what became of it."""

    rule: str
    targets: tuple[str, ...]
    key: str
    reason: str
    until: date | None
    expired: bool
    used: bool


@dataclass(frozen=True, slots=True)
class WaiverEvidence:
    """The waivers of a release; ``complete`` when all that they could waive was looked at."""

    release: str
    waivers: tuple[WaiverUse, ...]
    today: date
    complete: bool
    target: None = None
