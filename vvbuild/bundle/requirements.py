"""Requirements with hashes, as ``uv export`` and ``pip-compile --generate-hashes`` write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from vvbuild.errors import LockError
from vvbuild.manifest.targets import platform_row, target_table
from vvbuild.model.digest import Digest
from vvbuild.model.target import Platform

if TYPE_CHECKING:
    from packaging.markers import Marker

_HASH = re.compile(r"--hash[= ]sha256:([0-9a-f]{64})(?=\s|$)")
_COMMENT = re.compile(r"(^|\s)#.*")
# `manylinux_2_28_x86_64` and its like: the system with its release, and the machine.
_WHEEL = re.compile(r"(?P<family>[a-z]+)_(?:\d+_\d+_)?(?P<machine>\w+)")
# What a marker may ask beside `sys_platform` (PEP 508): os.name and platform.system().
_BESIDE = {"linux": ("posix", "Linux"), "darwin": ("posix", "Darwin"), "win32": ("nt", "Windows")}
# The last Python that is thought of where a release names no upper bound, and the last
# bug-fix release of one.
_LAST_MINOR, _LAST_MICRO = 20, 40


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package in one version, the files that it may be, and where it is needed.

    ``name`` is in its canonical form.
    """

    name: str
    version: str
    marker: Marker | None
    hashes: frozenset[Digest]

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"

    def needed(self, environments: Iterable[Mapping[str, str]]) -> bool:
        """Whether one of the environments needs it."""
        if self.marker is None:
            return True
        text = str(self.marker)
        return any(_holds(text, tuple(sorted(each.items()))) for each in environments)


def read_requirements(text: str) -> tuple[Requirement, ...]:
    """Read a requirements file; raises :class:`LockError` for a line that fixes no bytes."""
    return tuple(map(_requirement, _lines(text)))


def accepted_pythons(requires: str) -> dict[str, tuple[str, ...]]:
    """The Pythons that a specifier accepts: ``3.11`` to its bug-fix releases, oldest first."""
    from packaging.specifiers import SpecifierSet

    allowed = SpecifierSet(requires)
    found: dict[str, tuple[str, ...]] = {}
    for minor in range(_LAST_MINOR + 1):
        versions = [f"3.{minor}.{micro}" for micro in range(_LAST_MICRO + 1)]
        if fitting := tuple(each for each in versions if allowed.contains(each)):
            found[f"3.{minor}"] = fitting
    return found


def marker_environments(host: Platform, versions: Iterable[str]) -> list[dict[str, str]]:
    """What markers ask on a host of that kind: one for each Python."""
    system = target_table().os[host.os].python
    os_name, platform_system = _BESIDE[system]
    _, machine = wheel_platform(host)
    if system == "win32":
        # There alone wheels spell it in another way than platform.machine().
        machine = machine.upper()
    return [
        {
            "implementation_name": "cpython",
            "implementation_version": version,
            "os_name": os_name,
            "platform_machine": machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": platform_system,
            "platform_version": "",
            "python_full_version": version,
            "python_version": ".".join(version.split(".")[:2]),
            "sys_platform": system,
            "extra": "",
        }
        for version in versions
    ]


def wheel_platform(host: Platform) -> tuple[str, str]:
    """The system and the machine that wheels for a host name: ``manylinux`` and ``x86_64``."""
    match = _WHEEL.fullmatch(platform_row(host).wheel)
    assert match is not None
    return match["family"], match["machine"]


@lru_cache(maxsize=65536)
def _holds(marker: str, environment: tuple[tuple[str, str], ...]) -> bool:
    return _marker(marker).evaluate(dict(environment))


@lru_cache(maxsize=1024)
def _marker(text: str) -> Marker:
    from packaging.markers import Marker

    return Marker(text)


def _lines(text: str) -> Iterator[str]:
    """Logical lines, without comments and line ends."""
    for line in text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        if bare := _COMMENT.sub("", line).strip():
            yield bare


def _requirement(line: str) -> Requirement:
    from packaging.requirements import InvalidRequirement
    from packaging.requirements import Requirement as Parsed
    from packaging.utils import canonicalize_name

    hashes = frozenset(Digest(each) for each in _HASH.findall(line))
    bare = _HASH.sub("", line).strip()
    try:
        parsed = Parsed(bare)
    except InvalidRequirement:
        raise _refusal(bare, "it is no requirement") from None
    pins = [each.version for each in parsed.specifier if each.operator in ("==", "===")]
    if len(pins) != 1 or pins[0].endswith("*"):
        raise _refusal(bare, "it gives no exact version")
    if not hashes:
        raise _refusal(bare, "it gives no SHA-256")
    return Requirement(canonicalize_name(parsed.name), pins[0], parsed.marker, hashes)


def _refusal(line: str, why: str) -> LockError:
    return LockError(
        f"The engine's requirements cannot be used, {why}: {line[:120]!r}.",
        hint="Write them with `uv export` or `uv pip compile --generate-hashes`.",
    )
