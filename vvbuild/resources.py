"""Where the data files lie: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
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
