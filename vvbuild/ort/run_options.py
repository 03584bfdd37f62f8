"""Options of a run, of which one matters: the flag that ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vvbuild.ort._handle import Handle, Owner
from vvbuild.ort.library import Library


class RunOptions(Owner):
    """A flag that ends runs from another thread.

    The flag is *sticky*: once set, the run under way and every later run with the same
    options end with :class:`~vvbuild.ort.errors.Terminated`, until :meth:`unset_terminate`.

    ONNX Runtime looks at the flag between two nodes (inside Loop and Scan, too). A run whose
    last node has begun finishes and succeeds; its result then says ``late_terminate``.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        address = library.create("CreateRunOptions")
        self._handle = Handle(
            "run options", address, lambda a: library.call("ReleaseRunOptions", a)
        )
        # Taken around the native flag and our own, so that the two never disagree.
        self._lock = threading.Lock()
        self._requested = False
        self._requests = 0

    @property
    def terminate_requested(self) -> bool:
        """Whether the flag is set."""
        return self._requested

    def terminate(self) -> None:
        """Set the flag. From any thread; returns at once, and the run ends soon after.

        After ``close()`` it still ends a run that was begun before, and else does nothing:
        whoever cancels may lose the race against whoever finishes.
        """
        with self._lock, self._handle.use_if_alive() as address:
            if address is None:
                return
            # Our own mark first: a run that ends in between must not look unasked-for.
            self._requested = True
            self._requests += 1
            self._library.check("RunOptionsSetTerminate", address)

    def unset_terminate(self) -> None:
        """Clear the flag, so that these options can be used again."""
        with self._lock, self._handle.use() as address:
            self._library.check("RunOptionsUnsetTerminate", address)
            self._requested = False

    @contextmanager
    def in_run(self) -> Iterator[RunMark]:
        """Keep the options alive for one run, and watch for requests meanwhile."""
        with self._handle.use() as address:
            before = self._requests
            yield RunMark(address, lambda: self._requested or self._requests != before)


@dataclass(frozen=True)
class RunMark:
    """The options of one run: their address, and whether its end has been asked for.

    ``terminate_seen()`` is also true when the flag was set during the run and cleared again.
    """

    address: int
    terminate_seen: Callable[[], bool]
