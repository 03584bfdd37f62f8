"""Who works with a store, so that nothing is deleted below anybody's hands.

Every process holds a lock of its own below ``users/``, which the system frees when the process
ends in whatever way. Whoever deletes holds the gate meanwhile, through which all others come.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from vvbuild.errors import UsageError
from vvbuild.runtime.cancel import Cancel

if TYPE_CHECKING:
    from filelock import FileLock

_MINE = [uuid.uuid4().hex]
_NUMBER = count()


def _become_another() -> None:
    _MINE[0] = uuid.uuid4().hex


if hasattr(os, "register_at_fork"):
    # A child is a user of its own, and its parent another one.
    os.register_at_fork(after_in_child=_become_another)


def lock_at(path: Path) -> FileLock:
    """A lock between processes, which dies with its holder."""
    from filelock import FileLock

    return FileLock(path, thread_local=False)


def hold(lock: FileLock, cancel: Cancel) -> None:
    """Wait for a lock; raises :class:`CancelledError` once the flag is set."""
    from filelock import Timeout

    while True:
        cancel.check()
        try:
            lock.acquire(timeout=0.2, poll_interval=0.05)
        except Timeout:
            continue
        return


def try_to_hold(lock: FileLock) -> bool:
    """Take a lock that nobody holds."""
    from filelock import Timeout

    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    return True


def enter(base: Path) -> FileLock:
    """Become a user of a store; waits while somebody deletes there.

    Raises ``FileNotFoundError`` if the whole store was deleted at this moment.
    """
    with _gate(base, Cancel()):
        for path in _abandoned(base):
            path.unlink(missing_ok=True)
        lock = lock_at(base / "users" / f"{_MINE[0]}-{next(_NUMBER)}.lock")
        lock.acquire(timeout=0)
        return lock


def leave(lock: FileLock) -> None:
    """Be a user no more."""
    lock.release()
    Path(lock.lock_file).unlink(missing_ok=True)


def others(base: Path) -> int:
    """How many other processes work with the store."""
    users = base / "users"
    if not users.is_dir():
        return 0
    foreign = {path for path in users.iterdir() if not path.name.startswith(_MINE[0])}
    return len(foreign - set(_abandoned(base)))


@contextmanager
def alone(base: Path, cancel: Cancel) -> Iterator[None]:
    """Keep all others out for a while.

    Raises :class:`UsageError` if somebody is in already: another process, or scratch that is
    in use in this one.
    """
    with _gate(base, cancel):
        if others(base) or any((base / "work").iterdir()):
            raise UsageError(
                "Another vvbuild is working in this store; nothing was deleted.",
                context={"store": base.parent},
                hint="Wait until it has finished.",
            )
        yield


@contextmanager
def _gate(base: Path, cancel: Cancel) -> Iterator[None]:
    path = base / "locks" / "gate.lock"
    while True:
        lock = lock_at(path)
        hold(lock, cancel)
        if path.exists():
            break
        # The store was deleted while we waited; what we hold is nobody's gate any more.
        lock.release()
    try:
        yield
    finally:
        lock.release()


def _abandoned(base: Path) -> list[Path]:
    """Locks of processes that are gone."""
    found = []
    for path in (base / "users").iterdir():
        if path.name.startswith(_MINE[0]):
            continue
        lock = lock_at(path)
        try:
            if try_to_hold(lock):
                lock.release()
                found.append(path)
        except OSError:
            # Gone at this moment, or another user's, whom we may not ask.
            continue
    return found
