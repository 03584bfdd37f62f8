"""Several unpacked artifacts as one tree."""

from __future__ import annotations

import filecmp
from pathlib import Path

from vvbuild.errors import IntegrityError
from vvbuild.fetch.store import walk


def merge(source: Path, into: Path, name: str) -> None:
    """Move all that lies in ``source`` to ``into``; equal files may be in both.

    ``name`` says whose files they are. Raises :class:`IntegrityError` for two different files
    that want one place: wheels of one vendor share some, archives of different ones should not.
    """
    into.mkdir(parents=True, exist_ok=True)
    if not any(into.iterdir()):
        into.rmdir()
        source.rename(into)
        return
    for path, relative, kind in walk(source):
        final = into / relative
        if kind == "directory":
            final.mkdir(parents=True, exist_ok=True)
            continue
        final.parent.mkdir(parents=True, exist_ok=True)
        if not (final.is_symlink() or final.exists()):
            path.rename(final)
        elif not _same(path, final):
            raise IntegrityError(
                f"Two different files want the place {relative!r} in one component.",
                context={"second": name},
                hint="Give one of the artifacts another folder with `into` in the manifest.",
            )


def _same(one: Path, two: Path) -> bool:
    if one.is_symlink() or two.is_symlink():
        return one.is_symlink() and two.is_symlink() and one.readlink() == two.readlink()
    return two.is_file() and filecmp.cmp(one, two, shallow=False)
