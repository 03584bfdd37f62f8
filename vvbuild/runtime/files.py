"""Files that are either whole or not there."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from vvbuild.model.digest import Digest
from vvbuild.runtime.cancel import Cancel

_CHUNK = 1 << 20


def hash_file(path: Path, cancel: Cancel | None = None) -> Digest:
    """The SHA-256 of a file, read in pieces; memory stays flat."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            if cancel is not None:
                cancel.check()
    return Digest(digest.hexdigest())


@contextmanager
def atomic_writer(path: Path) -> Iterator[BinaryIO]:
    """A binary stream that becomes ``path`` only when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~current_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path`` in one move."""
    with atomic_writer(path) as stream:
        stream.write(data)


def current_umask() -> int:
    """The process's umask, without a moment in which it is another one (Linux)."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    except OSError:
        pass
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def remove_tree(path: Path) -> None:
    """Delete a directory of ours, read-only members included; a missing one is fine."""
    if path.is_symlink() or path.is_file():
        path.unlink()
        return
    with _ignore_missing():
        path.chmod(stat.S_IRWXU)
    for directory, folders, _ in os.walk(path):
        # Before the walk goes into them: a directory that cannot be listed keeps its members.
        for folder in (Path(directory, name) for name in folders):
            with _ignore_missing():
                if not folder.is_symlink():
                    folder.chmod(stat.S_IRWXU)
    shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _ignore_missing() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        pass
