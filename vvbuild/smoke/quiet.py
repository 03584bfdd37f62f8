"""When an engine that was left alone comes to rest, seen from outside."""

from __future__ import annotations

import time
from dataclasses import dataclass

from vvbuild.runtime.cancel import Cancel
from vvbuild.smoke import processes

# Rest is a tenth of a second without computing. A server's own clock ticks now and then.
_REST = 0.1
_BLIPS = 0.05
_PAUSE = 0.002


@dataclass(frozen=True, slots=True)
class Sample:
    """One look: when (seconds), whether any thread ran, and all processor time so far (ticks)."""

    at: float
    running: bool
    ticks: int


@dataclass(frozen=True, slots=True)
class Rest:
    """When an engine came to rest, and the ticks that it had used since it was watched."""

    at: float
    spent: int


class RestFinder:
    """Finds the first moment from which nothing was computed for a tenth of a second.

    A thread that waits for a processor counts as running, so a busy machine cannot make an
    engine look idle.
    """

    def __init__(self) -> None:
        self._samples: list[Sample] = []
        self._candidate = 0

    def feed(self, sample: Sample) -> Sample | None:
        """Take a look into account; gives the first moment of rest once it is known."""
        self._samples.append(sample)
        while self._candidate < len(self._samples):
            first = self._samples[self._candidate]
            window = self._samples[self._candidate :]
            if not self._restful(first, window):
                self._candidate += 1
            elif sample.at - first.at >= _REST:
                return first
            else:
                return None
        return None

    @staticmethod
    def _restful(first: Sample, window: list[Sample]) -> bool:
        if first.running:
            return False
        allowed = max(1, int(_BLIPS * _REST / _PAUSE))
        blips = sum(sample.running for sample in window)
        return blips <= allowed and window[-1].ticks - first.ticks <= 1


class Watch:
    """Looks at the processor time of a group of processes, from now on."""

    def __init__(self, group: int) -> None:
        self._group = group
        self._before = processes.total_ticks(processes.group_members(group))

    def spent(self) -> int:
        """Ticks that the group has used since, what has ended meanwhile included."""
        return processes.total_ticks(processes.group_members(self._group)) - self._before

    def wait_for_rest(self, left: float, limit: float, cancel: Cancel) -> Rest | None:
        """Look at the group's threads until they rest, for ``limit`` seconds at most.

        Only those processes count that lived when the client ``left`` (by
        ``time.perf_counter()``): an engine may put a new worker in the place of one that it
        has ended.
        """
        newest = processes.ticks_at(left)
        pids = processes.born_before(newest, processes.group_members(self._group))
        finder = RestFinder()
        end = time.perf_counter() + limit
        while time.perf_counter() < end:
            tasks = processes.tasks_of(pids)
            running, ticks = any(task.running for task in tasks), sum(task.ticks for task in tasks)
            rest = finder.feed(Sample(time.perf_counter(), running, ticks))
            if rest is not None:
                return Rest(rest.at, processes.total_ticks(pids) - self._before)
            cancel.check()
            time.sleep(_PAUSE)
        return None
