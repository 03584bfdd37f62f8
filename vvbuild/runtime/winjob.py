"""Windows: a Job Object that a child and all that it starts belong to, and that ends with us.

A process tree by parents' numbers loses whoever outlived its parent; a job does not. It is closed
when its last handle is, so a child does not survive us either, however we end.

Sources: Microsoft's documentation of "Job Objects", AssignProcessToJobObject,
SetInformationJobObject and JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from ctypes import Structure, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any
from weakref import WeakKeyDictionary

# Popen's creationflags: the child waits until it is in its job.
SUSPENDED = 0x4
_EXTENDED_LIMITS = 9
_KILL_ON_CLOSE = 0x2000
_ENDED_BY_US = 1

_jobs: WeakKeyDictionary[subprocess.Popen[bytes], _Job] = WeakKeyDictionary()


class _BasicLimits(Structure):
    _fields_ = (
        ("PerProcessUserTimeLimit", c_int64),
        ("PerJobUserTimeLimit", c_int64),
        ("LimitFlags", c_uint32),
        ("MinimumWorkingSetSize", c_size_t),
        ("MaximumWorkingSetSize", c_size_t),
        ("ActiveProcessLimit", c_uint32),
        ("Affinity", c_size_t),
        ("PriorityClass", c_uint32),
        ("SchedulingClass", c_uint32),
    )


class _ExtendedLimits(Structure):
    _fields_ = (
        ("BasicLimitInformation", _BasicLimits),
        ("IoInfo", c_uint64 * 6),
        ("ProcessMemoryLimit", c_size_t),
        ("JobMemoryLimit", c_size_t),
        ("PeakProcessMemoryUsed", c_size_t),
        ("PeakJobMemoryUsed", c_size_t),
    )


class _Job:
    """The handle of a job; closing it ends whoever is still in it."""

    def __init__(self, kernel: Any, handle: int) -> None:
        self._kernel = kernel
        self._handle = handle

    def end(self) -> bool:
        return bool(self._kernel.TerminateJobObject(c_void_p(self._handle), _ENDED_BY_US))

    def __del__(self) -> None:
        self._kernel.CloseHandle(c_void_p(self._handle))


def adopt(process: subprocess.Popen[bytes]) -> None:
    """Put a child that was started suspended into a job of its own, and let it run.

    Where that is refused, it runs without one.
    """
    if sys.platform == "win32":
        handle = c_void_p(int(process._handle))  # type: ignore[attr-defined]  # noqa: SLF001
        job = _make(handle)
        if job is not None:
            _jobs[process] = job
        ctypes.WinDLL("ntdll").NtResumeProcess(handle)


def end(process: subprocess.Popen[bytes]) -> bool:
    """End everything in the child's job; ``False`` where it has none."""
    job = _jobs.get(process)
    return job is not None and job.end()


def _make(process: c_void_p) -> _Job | None:
    if sys.platform != "win32":
        return None
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.CreateJobObjectW.restype = c_void_p
    handle = kernel.CreateJobObjectW(None, None)
    if not handle:
        return None
    job = _Job(kernel, handle)
    limits = _ExtendedLimits()
    limits.BasicLimitInformation.LimitFlags = _KILL_ON_CLOSE
    size = ctypes.sizeof(limits)
    wanted = (c_void_p(handle), _EXTENDED_LIMITS, ctypes.byref(limits), c_uint32(size))
    if not kernel.SetInformationJobObject(*wanted):
        return None
    return job if kernel.AssignProcessToJobObject(c_void_p(handle), process) else None
