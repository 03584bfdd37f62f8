"""Sets of pins as real releases had them, for tests that change one of them."""

from __future__ import annotations

from dataclasses import replace

from vvbuild.manifest.compat import compat_tables
from vvbuild.manifest.targets import official_targets
from vvbuild.model.finding import Finding
from vvbuild.model.target import Target
from vvbuild.rules import pins as _pins  # noqa: F401 - registers its rules
from vvbuild.rules import pins_cores as _pins_cores  # noqa: F401 - registers its rules
from vvbuild.rules import pins_gpu as _pins_gpu  # noqa: F401 - registers its rules
from vvbuild.rules import pins_known as _pins_known  # noqa: F401 - registers its rules
from vvbuild.rules.pin_evidence import Pin, PinEvidence
from vvbuild.rules.registry import judge

TARGETS = tuple(str(target) for target in official_targets())
_DEVICES = {"cuda": ("cuda", "cudnn", "zlibwapi"), "directml": ("directml",)}

# Engine 0.24.1: everything with a source of its own.
ERA_11 = {
    "core": "0.15.9", "onnxruntime": "1.13.1", "pyinstaller": "5.13.2", "cuda": "11.8.0",
    "cudnn": "8.9.2.26", "directml": "1.10.0", "zlibwapi": "1.2.3",
}  # fmt: skip
# Engine 0.25.2: CUDA and DirectML out of the additional libraries.
ERA_12 = {
    "core": "0.16.2", "downloader": "0.16.2", "onnxruntime": "1.17.3", "pyinstaller": "6.17.0",
    "models": "0.16.4", "additional-libraries": "0.2.0", "cuda": "12.2.2", "cudnn": "8.9.2.26",
    "directml": "1.13.1", "zlibwapi": "1.2.3",
}  # fmt: skip
# The main branch of 2026-08-20, with the models that it forgot.
MAIN = ERA_12 | {
    "core": "0.17.0", "downloader": "0.17.0", "onnxruntime": "1.23.2", "pyinstaller": "6.21.0",
    "models": "0.17.0", "additional-libraries": "0.3.0", "cuda": "12.8.1", "cudnn": "9.8.0.87",
    "directml": "1.15.4",
}  # fmt: skip
# The sample: everything from PyPI, no core.
WHEELS = {
    "onnxruntime": "1.23.2", "pyinstaller": "6.22.3", "cuda": "12.9", "cudnn": "9.10.2.21",
    "directml": "1.15.4",
}  # fmt: skip


def pins(
    base: dict[str, str], target: str, *, python: str = "==3.11.9", without: str = "", **other: str
) -> PinEvidence:
    """The evidence of a set; ``additional_libraries=…`` changes ``additional-libraries``."""
    parsed = Target.parse(target)
    changed = {name.replace("_", "-"): version for name, version in other.items()}
    flavour = changed.pop("flavour", None)
    kept = {
        name: version for name, version in (base | changed).items() if _belongs(name, parsed.device)
    }
    kept.pop(without, None)
    downloads = "downloader" in base
    provided = "additional-libraries" in kept
    own = "pypi" if base is WHEELS else "voicevox" if downloads else "microsoft"
    return PinEvidence(
        release="r",
        target=parsed,
        targets=TARGETS,
        engine="0.25.2",
        python=python,
        tables=compat_tables(),
        pins={
            name: Pin(
                version=version,
                source="core-downloader" if downloads and name != "pyinstaller" else "url",
                key=f"components.{name}.version",
                flavour=(flavour or own) if name == "onnxruntime" else None,  # type: ignore[arg-type]
                provided_by="additional-libraries"
                if provided and name in ("cuda", "cudnn", "directml")
                else None,
                pattern="[!n]*" if name == "models" else None,
            )
            for name, version in kept.items()
        },
    )


def _belongs(name: str, device: str) -> bool:
    if name == "additional-libraries":
        return device != "cpu"
    owners = [each for each, names in _DEVICES.items() if name in names]
    return not owners or device in owners


def with_pin(evidence: PinEvidence, name: str, **changes: object) -> PinEvidence:
    """The evidence with one pin changed."""
    changed = replace(evidence.pins[name], **changes)  # type: ignore[arg-type]
    return replace(evidence, pins={**evidence.pins, name: changed})


def with_cores(evidence: PinEvidence, first: str, *others: str) -> PinEvidence:
    """The evidence with extra cores."""
    extra = replace(
        evidence.pins["core"], version=first, also=others, key="components.extra-cores.version"
    )
    return replace(evidence, pins={**evidence.pins, "extra-cores": extra})


def found(evidence: PinEvidence, severity: str | None = None) -> list[str]:
    """The names of the rules that found something."""
    return [each.rule for each in judge(evidence) if severity in (None, each.severity)]


def only(evidence: PinEvidence, rule: str) -> Finding:
    """The one finding of a rule."""
    (finding,) = (each for each in judge(evidence) if each.rule == rule)
    return finding
