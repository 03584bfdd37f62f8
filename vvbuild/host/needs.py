"""What freezing needs of this machine, and how to install what is missing."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from vvbuild import resources
from vvbuild.errors import HostToolMissingError
from vvbuild.host.python import PythonFacts
from vvbuild.manifest.decode import decode, read_document
from vvbuild.manifest.targets import host_platform
from vvbuild.model.tables import HostNeed, HostTable
from vvbuild.runtime.files import hash_file


@dataclass(frozen=True, slots=True)
class NeedState:
    """A need of this machine: met (``where`` says by what), or missing."""

    need: HostNeed
    missing: tuple[str, ...]
    where: str


@resources.cached
def host_table() -> HostTable:
    """``host.toml``."""
    return decode(read_document(resources.manifest_file("host.toml")), HostTable)


def check_needs(python: PythonFacts | None) -> tuple[NeedState, ...]:
    """Look for everything that freezing on this machine needs."""
    here = host_platform().os
    return tuple(_check(need, python) for need in host_table().need if here in need.os)


def require_needs(python: PythonFacts) -> None:
    """Raise :class:`HostToolMissingError` that names all that is missing and the line for it."""
    missing = [state for state in check_needs(python) if state.missing]
    if not missing:
        return
    raise HostToolMissingError(
        "Freezing needs what this machine lacks: "
        + ", ".join(name for state in missing for name in state.missing)
        + ".",
        context={state.need.name: state.need.why for state in missing},
        hint=install_hint([state.need for state in missing], python),
    )


def program_digests() -> dict[str, str]:
    """SHA-256 of each host program that freezing runs: objcopy writes a part of the program."""
    here = host_platform().os
    names = {name for need in host_table().need if here in need.os for name in need.programs}
    found = {name: shutil.which(name) for name in sorted(names)}
    return {name: hash_file(Path(path)).hex for name, path in found.items() if path}


def install_hint(needs: list[HostNeed], python: PythonFacts | None) -> str:
    """The lines that install ``needs`` here, joined where the package manager is one."""
    family = _family()
    lines = [need.install[family] for need in needs if family in need.install]
    if len(lines) < len(needs):
        names = ", ".join(need.name for need in needs)
        return f"Install {names} with this system's package manager."
    version = python.series if python is not None else "3"
    first, *others = (line.replace("{python}", version) for line in lines)
    packages = [line.rsplit(" ", 1)[-1] for line in others]
    return "As root: " + " ".join([first, *packages])


def _check(need: HostNeed, python: PythonFacts | None) -> NeedState:
    missing = tuple(program for program in need.programs if shutil.which(program) is None)
    where = ", ".join(shutil.which(program) or "" for program in need.programs)
    if need.shared_python:
        library = python.shared_library if python is not None else None
        missing = () if library is not None else (f"the shared library of {_named(python)}",)
        where = str(library or "")
    return NeedState(need, missing, "" if missing else where)


def _named(python: PythonFacts | None) -> str:
    return f"Python {python.version} ({python.executable})" if python else "Python"


def _family() -> str:
    names = ["macos"] if sys.platform == "darwin" else _os_release_names()
    families = host_table().families
    return next(
        (family for name in names for family, members in families.items() if name in members), ""
    )


def _os_release_names() -> list[str]:
    """``ID`` and ``ID_LIKE`` of os-release(5), the most specific first."""
    values: dict[str, str] = {}
    try:
        for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition("=")
            values[key] = value.strip("\"'")
    except OSError:
        return []
    return [values.get("ID", ""), *values.get("ID_LIKE", "").split()]
