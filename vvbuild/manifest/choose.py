"""Which release a command is about, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vvbuild.manifest.inherit import CHECKOUT_FILE
from vvbuild.manifest.release import LoadedRelease, find_release, load_release

_DEFAULT = "sample"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A release and the reason for it, as the end of a sentence."""

    release: LoadedRelease
    why: str


def choose_release(wanted: str | None, directory: Path) -> Chosen:
    """The release that was asked for by name or by file; else the checkout's; else ``sample``.

    ``directory`` is where the command runs. Raises what :func:`find_release` and
    :func:`load_release` raise.
    """
    if wanted is not None:
        if wanted.endswith(".toml"):
            return Chosen(load_release(Path(wanted).absolute()), "asked for by its file")
        return Chosen(find_release(wanted), "asked for")
    own = checkout_manifest(directory)
    if own is not None:
        return Chosen(load_release(own), f"{own} says so")
    return Chosen(find_release(_DEFAULT), "nothing else was asked for")


def checkout_manifest(directory: Path) -> Path | None:
    """The ``vvbuild.toml`` of the checkout that holds ``directory``."""
    return next((path for path in _candidates(directory.absolute()) if path.is_file()), None)


def _candidates(directory: Path) -> Iterator[Path]:
    for folder in (directory, *directory.parents):
        yield folder / CHECKOUT_FILE
        # What lies above a repository's root belongs to somebody else.
        if (folder / ".git").exists():
            return
