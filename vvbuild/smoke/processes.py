"""What Linux tells about processes in ``/proc``; elsewhere nobody can be asked.

Field numbers are those of proc(5), counted from the state, which is the first field behind
the name in parentheses.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_STATE, _GROUP, _USER_TIME, _SYSTEM_TIME, _BORN = 0, 2, 11, 12, 19
_TIMES_WITH_CHILDREN = slice(11, 15)
_LISTEN = "0A"
# A process may end between two looks at it, or belong to somebody else.
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


@dataclass(frozen=True, slots=True)
class Task:
    """A thread: whether it runs or wants to, and the processor time it has used, in ticks."""

    running: bool
    ticks: int


def visible() -> bool:
    """Whether this system shows its processes."""
    return (_PROC / "self/stat").exists()


def ticks_per_second() -> int:
    """How many ticks of processor time a second has."""
    return os.sysconf("SC_CLK_TCK")


def ticks_at(moment: float) -> int:
    """A moment of ``time.perf_counter()``, in ticks since the system started (Linux)."""
    age = time.perf_counter() - moment
    return int((time.clock_gettime(time.CLOCK_BOOTTIME) - age) * ticks_per_second())


def family(group: int, marker: str) -> list[int]:
    """The living processes of a group, and those that left it but kept its environment.

    ``marker`` is a text that only their environment has. Empty where nothing is visible.
    """
    needle = os.fsencode(marker)
    found = []
    for pid in _pids():
        with suppress(*_GONE):
            fields = _fields(f"{pid}/stat")
            if fields[_STATE] in "ZX":
                continue
            mine = int(fields[_GROUP]) == group
            if mine or needle in (_PROC / str(pid) / "environ").read_bytes():
                found.append(pid)
    return found


def group_members(group: int) -> list[int]:
    """The processes of a group, a little faster than :func:`family`."""
    found = []
    for pid in _pids():
        with suppress(*_GONE):
            if int(_fields(f"{pid}/stat")[_GROUP]) == group:
                found.append(pid)
    return found


def name_of(pid: int) -> str:
    """``name (pid)``, for people."""
    try:
        return f"{(_PROC / str(pid) / 'comm').read_text().strip()} ({pid})"
    except OSError:
        return str(pid)


def tasks_of(pids: Iterable[int]) -> list[Task]:
    """Every thread of these processes."""
    found = []
    for pid in pids:
        with suppress(*_GONE):
            for name in os.listdir(f"{_PROC}/{pid}/task"):
                task = _look_at(pid, name)
                if task is not None:
                    found.append(task)
    return found


def born_before(tick: int, pids: Iterable[int]) -> list[int]:
    """Those of the processes that were born before a moment."""
    found = []
    for pid in pids:
        with suppress(*_GONE):
            if int(_fields(f"{pid}/stat")[_BORN]) < tick:
                found.append(pid)
    return found


def total_ticks(pids: Iterable[int]) -> int:
    """Processor time of these processes, of their ended threads, and of their ended children."""
    total = 0
    for pid in pids:
        with suppress(*_GONE):
            total += sum(int(ticks) for ticks in _fields(f"{pid}/stat")[_TIMES_WITH_CHILDREN])
    return total


def _look_at(pid: int, tid: str) -> Task | None:
    try:
        fields = _fields(f"{pid}/task/{tid}/stat")
    except _GONE:
        return None
    return Task(fields[_STATE] == "R", int(fields[_USER_TIME]) + int(fields[_SYSTEM_TIME]))


def listeners(port: int, pids: Iterable[int]) -> bool | None:
    """Whether one of these processes listens on a TCP port; ``None`` if that cannot be seen."""
    inodes = set(_listening_inodes(port))
    if not inodes:
        return None
    return any(inode in inodes for pid in pids for inode in _socket_inodes(pid))


def _pids() -> Iterator[int]:
    with suppress(OSError):
        yield from (int(name) for name in os.listdir(_PROC) if name.isdecimal())


def _fields(path: str) -> list[str]:
    # Read hundreds of times a second, so without what pathlib and text streams cost.
    descriptor = os.open(f"{_PROC}/{path}", os.O_RDONLY)
    try:
        data = os.read(descriptor, 4096)
    finally:
        os.close(descriptor)
    # The name before the last parenthesis may hold anything, spaces and parentheses too.
    return data.rpartition(b")")[2].decode("ascii").split()


def _listening_inodes(port: int) -> Iterator[str]:
    for table in ("net/tcp", "net/tcp6"):
        with suppress(OSError):
            for line in (_PROC / table).read_text().splitlines()[1:]:
                columns = line.split()
                if columns[3] == _LISTEN and int(columns[1].rpartition(":")[2], 16) == port:
                    yield columns[9]


def _socket_inodes(pid: int) -> Iterator[str]:
    directory = _PROC / str(pid) / "fd"
    with suppress(*_GONE):
        for name in os.listdir(directory):
            with suppress(*_GONE):
                target = str((directory / name).readlink())
                if target.startswith("socket:["):
                    yield target[8:-1]
