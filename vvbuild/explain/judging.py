"""What rules and tables say of versions that no release has put together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from vvbuild.check import run as _check  # noqa: F401 - registers the rules over pins
from vvbuild.manifest.compat import compat_tables
from vvbuild.manifest.targets import official_targets
from vvbuild.model.finding import SEVERITIES
from vvbuild.model.release import Flavour
from vvbuild.model.target import Device, Target
from vvbuild.model.version import clauses, numbers, within
from vvbuild.rules.pin_evidence import Pin, PinEvidence
from vvbuild.rules.registry import RULES

GPU_RULES = (
    "cuda-major", "cudnn-major", "cudnn-below-recommended", "cuda-built-newer-than-shipped",
)  # fmt: skip
FITS, REFUSED = "fits", "does not fit"
# A verdict that no operating system takes.
NOWHERE = re.compile(rf"{REFUSED}(?!.*on Windows {FITS})")


class _Ranged(Protocol):
    @property
    def versions(self) -> str: ...


RowT = TypeVar("RowT", bound=_Ranged)


def chosen(rows: Iterable[RowT], version: str | None) -> tuple[RowT, ...]:
    """The first row for a version, as the rules choose it; all without a version."""
    if version is None:
        return tuple(rows)
    return tuple(row for row in rows if within(version, row.versions))[:1]


def nearest_ranges(rows: Iterable[_Ranged], version: str) -> tuple[str, ...]:
    """The ranges right below and above a version that lies in none."""
    ranges = sorted({row.versions for row in rows}, key=_start)
    below = [text for text in ranges if _start(text) <= (numbers(version) or ())]
    above = [text for text in ranges if text not in below]
    return (*below[-1:], *above[:1])


def unknown(what: str, rows: Iterable[_Ranged], version: str) -> str:
    """The sentence for a version that no row is about; ``what`` has its name and version."""
    ranges = nearest_ranges(rows, version)
    if not ranges:
        return f"No table knows {what}, nor any other version of it."
    words = " and ".join(ranges)
    return f"No table knows {what}; the nearest that are known are {words}."


def oldest(versions: str) -> str:
    """A version that stands for a range: its lower bound, or one right above it."""
    for sign, bound in clauses(versions):
        if sign in ("==", ">=", "<="):
            return bound
        if sign == ">":
            return f"{bound}.0.1"
    return "0"


def verdict(
    rules: Sequence[str],
    device: Device,
    pins: Mapping[str, str],
    flavour: Flavour | None = None,
) -> str:
    """What these rules say of versions put together: that they fit, or which rule objects.

    Windows is told apart where they say something else of it.
    """
    said = {
        target.os: _verdict(rules, target, pins, flavour)
        for target in official_targets()
        if target.device == device and target.arch == "x64" and target.os != "macos"
    }
    windows, linux = said["win"], said.get("linux", said["win"])
    return linux if linux == windows else f"{linux}; on Windows {windows}"


def _verdict(
    rules: Sequence[str], target: Target, pins: Mapping[str, str], flavour: Flavour | None
) -> str:
    objections: dict[str, list[str]] = {}
    evidence = _evidence(target, pins, flavour)
    for name in rules:
        if any(True for _ in RULES[name].checks[PinEvidence](evidence)):
            objections.setdefault(RULES[name].about.severity, []).append(name)
    if not objections:
        return FITS
    severity = min(objections, key=SEVERITIES.index)
    words = ", ".join(objections[severity])
    return f"{REFUSED}: {words}" if severity == "error" else f"{FITS}, but {words}"


def _evidence(target: Target, pins: Mapping[str, str], flavour: Flavour | None) -> PinEvidence:
    return PinEvidence(
        release="explained",
        target=target,
        targets=(str(target),),
        engine="",
        python=f"=={pins['python']}" if "python" in pins else "",
        pins={
            name: Pin(
                version,
                source="core-downloader",
                key="",
                flavour=flavour if name == "onnxruntime" else None,
            )
            for name, version in pins.items()
        },
        tables=compat_tables(),
    )


def _start(versions: str) -> tuple[int, ...]:
    return numbers(oldest(versions)) or ()
