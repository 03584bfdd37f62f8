"""Many questions side by side, and one error for all that went wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TypeVar

from vvbuild.errors import (
    CancelledError,
    IntegrityError,
    NetworkError,
    NotFoundOnServerError,
    ResourceError,
    VvbuildError,
)
from vvbuild.locking.means import Means
from vvbuild.model.events import Progress
from vvbuild.runtime.cancel import Cancel

T = TypeVar("T")
R = TypeVar("R")
# Few: what the files are asked of are a handful of servers, whose big files share one line.
_THREADS = 4
_SLICE = 0.2


def ask_each(
    items: Sequence[T],
    ask: Callable[[T, Means], R],
    means: Means,
    *,
    task: str,
    to_the_end: bool = False,
) -> list[R | VvbuildError | None]:
    """The answer for each item, or the typed error instead of it.

    After a server could not be asked at all the rest is ``None``, since it would take minutes to
    find the same for each, unless ``to_the_end``. Raises :class:`CancelledError` on Ctrl-C.
    """
    stop = Cancel()
    inner = replace(means, cancel=stop)
    lock, done = threading.Lock(), 0

    def work(item: T) -> R | VvbuildError | None:
        nonlocal done
        try:
            stop.check()
            answer: R | VvbuildError = ask(item, inner)
        except CancelledError:
            return None
        except VvbuildError as error:
            if is_hopeless(error) and not to_the_end:
                stop.set()
            answer = error
        with lock:
            done += 1
            means.emit(Progress(task, done, len(items), "artifacts"))
        return answer

    forget = means.cancel.add(stop.set)
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="lock")
    try:
        asked = [pool.submit(work, item) for item in items]
        # In slices: a Ctrl-C at the moment when a wait without end begins would wait with it.
        while wait(asked, timeout=_SLICE).not_done:
            pass
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        forget()
    means.cancel.check()
    return [answer.result() for answer in asked]


def is_hopeless(error: VvbuildError) -> bool:
    """Whether nothing was learned at all: no answer, or no room for it on this machine.

    That a server has no such file is an answer.
    """
    if isinstance(error, NetworkError):
        return not isinstance(error, NotFoundOnServerError)
    return isinstance(error, ResourceError)


def together(failures: Mapping[str, VvbuildError], what: str, hint: str = "") -> VvbuildError:
    """One error for all failures: the only one, or the gravest kind with each in its context.

    ``what`` is the sentence, without its end, that tells how many there are.
    """
    first = next(iter(failures.values()))
    if len(failures) == 1:
        first.hint = f"{first.hint or ''} {hint}".strip() or None
        return first
    grave = [error for error in failures.values() if isinstance(error, IntegrityError)]
    other = [error for error in failures.values() if is_hopeless(error)]
    worst = (grave or other or [first])[0]
    return type(worst)(
        f"{what}. {worst.message}",
        context={name: error.message for name, error in failures.items()},
        hint=f"{worst.hint or ''} {hint}".strip() or None,
    )
