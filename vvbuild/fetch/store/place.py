"""Where a store lies, and how it is told from any other directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vvbuild.errors import DiskFullError, PermissionDeniedError, UsageError, from_os_error
from vvbuild.runtime.files import write_atomically

FORMAT = "v1"
# 1980-01-02: the first whole day that a zip can hold in every time zone.
FIXED_TIME = 315_619_200
_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# Cache of vvbuild. https://bford.info/cachedir/\n"
_PARTS = ("files", "trees", "records", "checkouts", "seen", "locks", "users", "work", "uv")


def default_root() -> Path:
    """``VVBUILD_CACHE_DIR``, or the platform's cache directory."""
    chosen = os.environ.get("VVBUILD_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("vvbuild", appauthor=False))


@contextmanager
def named(action: str) -> Iterator[None]:
    """Name a full disk and a refusal by what was tried; every other ``OSError`` passes as it is.

    ``action`` continues the sentence "Could not …".
    """
    try:
        yield
    except OSError as error:
        refused = from_os_error(error, action)
        if isinstance(refused, (DiskFullError, PermissionDeniedError)):
            raise refused from error
        raise


def make_place(root: Path) -> None:
    """Make the directories of a store, or those that it lacks.

    Raises :class:`UsageError` for a directory that holds anything else.
    """
    tag = root / "CACHEDIR.TAG"
    if not tag.is_file():
        # The tag is looked for again: another process may be making the same store right now.
        if _holds_foreign_files(root) and not tag.is_file():
            raise UsageError(
                f"{root} holds files, and it is not a store of vvbuild.",
                hint="Set VVBUILD_CACHE_DIR to an empty or a new directory.",
            )
        write_atomically(tag, _TAG)
    for part in _PARTS:
        (root / FORMAT / part).mkdir(parents=True, exist_ok=True)


def require_store(root: Path, instead: str) -> None:
    """Raise :class:`UsageError` for a directory without our tag; ``instead`` says what was done."""
    if not _is_tagged(root / "CACHEDIR.TAG"):
        raise UsageError(
            f"{root} has no CACHEDIR.TAG of vvbuild: it is not a store, and {instead}.",
            hint="Set VVBUILD_CACHE_DIR to the store that is meant.",
        )


def _is_tagged(tag: Path) -> bool:
    try:
        with tag.open("rb") as stream:
            return stream.read(len(_TAG)) == _TAG
    except OSError:
        return False


def _holds_foreign_files(root: Path) -> bool:
    """Whether anything lies there but the beginnings of our own tag."""
    try:
        return any(not path.name.startswith(".CACHEDIR.TAG.") for path in root.iterdir())
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        return True
