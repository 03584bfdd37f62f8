"""Doing the same for several things at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

GivenT = TypeVar("GivenT")
ResultT = TypeVar("ResultT")


def side_by_side(work: Callable[[GivenT], ResultT], given: Sequence[GivenT]) -> list[ResultT]:
    """The results in order; raises the first error.

    Unlike a pool of threads, this waits for nobody when Ctrl-C comes: the requests end when
    the engine does, and the engine is ended after this.
    """
    results: dict[int, ResultT] = {}
    errors: dict[int, Exception] = {}

    def one(number: int) -> None:
        try:
            results[number] = work(given[number])
        except Exception as error:  # noqa: BLE001 - handed to the caller below
            errors[number] = error

    threads = [
        threading.Thread(target=one, args=(number,), daemon=True) for number in range(len(given))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[number] for number in range(len(given))]
