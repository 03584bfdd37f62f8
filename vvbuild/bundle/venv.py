"""Private virtual environments: an interpreter with its standard library and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vvbuild.errors import ExternalError, PythonMissingError
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.process import run

_TIMEOUT_SECONDS = 120.0
_PROGRAMS = ("bin/python", "Scripts/python.exe")
_PACKAGES = ("lib/python3*/site-packages", "Lib/site-packages")


@dataclass(frozen=True, slots=True)
class Venv:
    """A virtual environment: its interpreter, and the folder of its packages."""

    python: Path
    site_packages: Path


def make_venv(python: Path, root: Path, cancel: Cancel) -> Venv:
    """Make an empty environment of ``python`` at ``root``, which must not exist; without pip.

    ``python`` may itself belong to a virtual environment, whose packages are not seen. Takes a
    tenth of a second. Raises :class:`PythonMissingError` if the interpreter cannot do it.
    """
    command: list[str | Path] = [python, "-I", "-m", "venv", "--without-pip", root]
    try:
        run(command, cancel=cancel, timeout=_TIMEOUT_SECONDS)
    except ExternalError as error:
        raise PythonMissingError(
            f"{python} cannot make a virtual environment.",
            context=error.context,
            hint="Use a complete Python, with its standard library (Debian: python3-venv).",
        ) from error
    program = next(root / name for name in _PROGRAMS if (root / name).exists())
    (packages,) = (path for pattern in _PACKAGES for path in root.glob(pattern))
    return Venv(program, packages)
