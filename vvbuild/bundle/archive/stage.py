"""Bring a bundle into the shape that a foreign archiver must see: our modes, one time."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from vvbuild.fetch.store import copy_file
from vvbuild.model.tree import Entry, Tree
from vvbuild.runtime.cancel import Cancel


def stage(tree: Tree, source: Path, directory: Path, epoch: int, cancel: Cancel) -> None:
    """Copy ``tree`` from ``source`` to ``directory`` (new); everything has the time ``epoch``.

    Files are cloned or copied and never hard-linked: the store's own are read-only, and an
    archive would say so, too.
    """
    made = {directory}
    directory.mkdir()
    for entry in tree.entries:
        cancel.check()
        path = directory / entry.path
        _make_directories(path if entry.kind == "directory" else path.parent, made)
        if entry.kind != "directory":
            _put(entry, source / entry.path, path)
            _stamp(path, epoch)
    for path in sorted(made, reverse=True):
        path.chmod(0o755)
        _stamp(path, epoch)


def _make_directories(path: Path, made: set[Path]) -> None:
    if path not in made:
        _make_directories(path.parent, made)
        path.mkdir()
        made.add(path)


def _put(entry: Entry, source: Path, path: Path) -> None:
    if entry.link is None:
        copy_file(source, path)
        path.chmod(entry.mode)
        return
    path.symlink_to(entry.link, target_is_directory=source.is_dir())
    if sys.platform == "darwin":  # where links have modes, and the umask makes them
        path.lchmod(0o755)


def _stamp(path: Path, epoch: int) -> None:
    if os.utime in os.supports_follow_symlinks:
        os.utime(path, (epoch, epoch), follow_symlinks=False)
    elif not path.is_symlink():
        os.utime(path, (epoch, epoch))
