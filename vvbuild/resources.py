"""Where the data files lie: beside the package in a checkout, inside it in a wheel.

A user's own manifests can be laid over the packaged ones for one run (``--manifests DIR``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from vvbuild.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = Path(__file__).resolve().parent
_overlay: Path | None = None
_forget: list[Callable[[], None]] = []


@functools.cache
def data_root() -> Path:
    """The directory that holds ``manifests``, ``patches`` and ``bootloader_extra``."""
    installed = _PACKAGE / "_data"
    return installed if installed.is_dir() else _PACKAGE.parent


def manifests_dir() -> Path:
    """The packaged release manifests, locks and tables."""
    return data_root() / "manifests"


def package_dir() -> Path:
    """The directory of the ``vvbuild`` package itself."""
    return _PACKAGE


def lay_over(directory: Path | None) -> None:
    """Let the files of ``directory`` stand before the packaged ones, ``None`` for those alone.

    It is for the whole process, since every table is read once. Raises :class:`UsageError` where
    there is no such directory.
    """
    global _overlay
    if directory is not None and not directory.is_dir():
        raise UsageError(
            f"There is no directory {directory} to take manifests from.",
            hint="--manifests (or VVBUILD_MANIFESTS) names a directory with releases/, locks/ …",
        )
    _overlay = directory.resolve() if directory is not None else None
    for forget in _forget:
        forget()


def overlay() -> Path | None:
    """The user's own manifests."""
    return _overlay


def manifest_dirs() -> tuple[Path, ...]:
    """Where manifests are looked for, the first that has a file wins."""
    return (manifests_dir(),) if _overlay is None else (_overlay, manifests_dir())


def manifest_file(relative: str) -> Path:
    """The file of that path below the manifests; where nobody has it, where it is packaged."""
    for directory in manifest_dirs():
        if (directory / relative).is_file():
            return directory / relative
    return manifests_dir() / relative


def manifest_names(folder: str) -> tuple[str, ...]:
    """The stems of the TOML files of a folder of the manifests, sorted."""
    found = {path.stem for each in manifest_dirs() for path in (each / folder).glob("*.toml")}
    return tuple(sorted(found))


def cached(function: Callable[P, R]) -> Callable[P, R]:
    """``functools.cache`` for what is read from manifests: forgotten when others are laid over."""
    remembering = functools.cache(function)
    _forget.append(remembering.cache_clear)
    # ParamSpec cannot say that the arguments are hashable.
    return remembering  # type: ignore[return-value]
