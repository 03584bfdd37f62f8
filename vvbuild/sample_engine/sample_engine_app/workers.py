"""Threads that compute, and how the work in them is called off."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from vvbuild.ort import Library, RunOptions, Terminated

from .errors import AbandonedError, StoppingError

logger = logging.getLogger("sample_engine")

Task = Callable[[RunOptions], bytes]
Gone = Callable[[], Coroutine[Any, Any, None]]


class Workers:
    """A few threads, each of which runs one task at a time, beside an event loop.

    All methods belong to the event loop's thread.
    """

    def __init__(self, library: Library, count: int) -> None:
        self._library = library
        self._executor = ThreadPoolExecutor(count, thread_name_prefix="synthesis")
        self._active: set[RunOptions] = set()
        self._stopping = False

    async def run(self, task: Task, gone: Gone | None = None) -> bytes:
        """Run a task in a thread; call it off as soon as ``gone()`` returns.

        Raises :class:`AbandonedError` once the thread of a task that was called off is free
        again, :class:`StoppingError` when the engine ends.
        """
        if self._stopping:
            raise StoppingError
        options = RunOptions(self._library)
        self._active.add(options)
        job = self._executor.submit(task, options)
        try:
            return await _first(job, options, gone)
        except Terminated:
            raise StoppingError from None
        finally:
            # Also when the request's own task is cancelled: nobody waits for the result.
            options.terminate()
            self._active.discard(options)
            options.close()

    def stop(self) -> None:
        """Call off everything, and take nothing more."""
        self._stopping = True
        for options in self._active:
            options.terminate()

    def close(self) -> None:
        """End the threads; waits for what :meth:`stop` has called off."""
        self._executor.shutdown()


async def _first(job: Future[bytes], options: RunOptions, gone: Gone | None) -> bytes:
    begin = time.perf_counter()
    done = asyncio.wrap_future(job)
    if gone is None:
        return await done
    watcher = asyncio.ensure_future(gone())
    either: set[asyncio.Future[Any]] = {done, watcher}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if done.done():
            return done.result()
        noticed = time.perf_counter()
        options.terminate()
        # A task that no thread has begun is simply forgotten.
        if not job.cancel():
            await asyncio.wait({done})
        logger.info(
            "cancelled after %.0f ms (%.0f ms into the request)",
            (time.perf_counter() - noticed) * 1000,
            (noticed - begin) * 1000,
        )
        if not done.cancelled() and done.exception() is not None:
            raise AbandonedError from done.exception()
        raise AbandonedError
    finally:
        watcher.cancel()
