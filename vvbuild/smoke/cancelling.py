"""Whether the engine stops computing when its client leaves, and how soon.

A synthesis is made so long that it takes seconds, and is left in its midst. What the engine
does then is seen from outside: its threads come to rest long before the processor time of a
whole synthesis is spent, and the next request is answered. Where processes cannot be seen
(not Linux), or compute elsewhere (a GPU), every processor is given such a synthesis, all are
left, and only the answer to the next request counts.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from typing import Protocol

from vvbuild.runtime.cancel import Cancel
from vvbuild.smoke import processes
from vvbuild.smoke.checks import CheckFailedError, NotOfferedError, Passed
from vvbuild.smoke.http import Client, TookTooLongError
from vvbuild.smoke.quiet import Watch
from vvbuild.smoke.result import CancelTimes
from vvbuild.smoke.side_by_side import side_by_side
from vvbuild.smoke.talking import Line, lengthen, say

PATH = "/cancellable_synthesis"

# VOICEVOX ENGINE looks once a second whether the client is still there, so a synthesis has
# to last longer than that.
_ENOUGH, _AIM = 2.0, 3.0
# From this on, a time can be extrapolated.
_TELLING = 0.4
_GROW = 4
# Half an hour of speech; an engine that is quicker with that needs no cancelling.
_MAX_SECONDS = 1800.0
# More of a whole synthesis's processor time than this, and it was not called off.
_MOST_SPENT = 0.75
# Less than this, and the computing may not have begun when the client left.
_BEGUN = 0.05
_ATTEMPTS = 3
# Below this share of one processor, the work is done elsewhere.
_COMPUTING = 0.1
_ANSWER_SLACK = 2.0


@dataclass(frozen=True, slots=True)
class Long:
    """A line that takes ``seconds``, and ``ticks`` of processor time if they can be seen."""

    line: Line
    seconds: float
    ticks: int

    @property
    def visible(self) -> bool:
        """Whether its computing shows in processor times."""
        return self.ticks >= self.seconds * processes.ticks_per_second() * _COMPUTING


class _Trial(Protocol):
    def __call__(self, delay: float) -> float:
        """Leave after ``delay`` seconds; gives milliseconds until the engine rests."""


def measure_cancel(
    client: Client, line: Line, group: int, trials: int, cancel: Cancel
) -> Passed[CancelTimes]:
    """Leave ``trials`` syntheses in their midst, and measure.

    Raises :class:`NotOfferedError` if the engine has no such route, or is too quick for it.
    """
    usual = _first(client, line)
    long = _find_long(client, line, usual, group)
    seen = processes.visible() and long.visible
    short = _Short(client, line, usual)

    def watched(delay: float) -> float:
        return _watched_trial(client, long, group, short, cancel, delay)

    def crowded(delay: float) -> float:
        return _crowded_trial(client, long, short, delay)

    trial: _Trial = watched if seen else crowded
    # Not always at the same point of the work.
    shares = (0.1 + 0.05 * (number % 5) for number in range(trials))
    times = CancelTimes(tuple(round(trial(long.seconds * share), 1) for share in shares))
    how = "processor at rest" if seen else "next request answered"
    p50, worst = times.percentile(50), times.percentile(100)
    return Passed(
        f"{how} after {p50:.0f} ms (median), {worst:.0f} ms (worst of {trials}); "
        f"a whole one takes {long.seconds:.1f} s",
        times,
    )


@dataclass(frozen=True, slots=True)
class _Short:
    """A request that must be answered while nothing else is computed."""

    client: Client
    line: Line
    usual: float

    def answer(self, limit: float) -> float:
        """Seconds until the answer."""
        try:
            return say(self.client, self.line, PATH, limit).value.seconds
        except TookTooLongError as error:
            raise CheckFailedError(f"after a synthesis was cancelled: {error}") from error


def _first(client: Client, line: Line) -> float:
    """Seconds that a short synthesis takes by this route."""
    answer = client.post(PATH, {"speaker": line.style}, line.json)
    if answer.status == 404:
        raise NotOfferedError(f"the engine has no {PATH}, or it is switched off")
    answer.expect_success()
    return say(client, line, PATH).value.seconds


def _find_long(client: Client, line: Line, usual: float, group: int) -> Long:
    """Say the line over and over until that takes seconds."""
    most = max(1, int(_MAX_SECONDS / line.query.seconds()))
    times, seconds = 1, usual
    while True:
        if seconds < _TELLING:
            times *= _GROW
        else:
            times = math.ceil(times * _AIM / seconds)
        longer = lengthen(line, min(times, most))
        watch = Watch(group)
        seconds = client.post(PATH, {"speaker": line.style}, longer.json).expect_success().seconds
        if seconds > _ENOUGH:
            return Long(longer, seconds, watch.spent())
        if times >= most:
            raise NotOfferedError(
                f"too quick to be cancelled: {longer.query.seconds():.0f} s of speech take "
                f"{seconds:.1f} s"
            )


def _leave(client: Client, line: Line, delay: float) -> float:
    """Ask, and leave; gives the moment of leaving."""
    try:
        client.post(PATH, {"speaker": line.style}, line.json, timeout=delay).expect_success()
    except TookTooLongError:
        return time.perf_counter()
    raise CheckFailedError(f"a synthesis that takes seconds was done after {delay:.1f} s")


def _watched_trial(
    client: Client, long: Long, group: int, short: _Short, cancel: Cancel, delay: float
) -> float:
    for _ in range(_ATTEMPTS):
        watch = Watch(group)
        left = _leave(client, long.line, delay)
        begun = watch.spent() >= _BEGUN * long.ticks
        rest = watch.wait_for_rest(left, 3 * long.seconds, cancel)
        if begun or rest is None:
            break
        # Busy machine: what has not begun cannot be cancelled.
        delay *= 2
    else:
        raise CheckFailedError(f"{PATH} had not begun to compute after {delay / 2:.1f} s")
    if rest is None:
        raise CheckFailedError(
            f"still computing {3 * long.seconds:.0f} s after the client left; "
            f"a whole synthesis takes {long.seconds:.1f} s"
        )
    milliseconds = (rest.at - left) * 1000
    if rest.spent > _MOST_SPENT * long.ticks:
        hertz = processes.ticks_per_second()
        raise CheckFailedError(
            f"not cancelled: it computed for {milliseconds:.0f} ms after the client had left, "
            f"in all {rest.spent / hertz:.1f} s of processor time where a whole synthesis takes "
            f"{long.ticks / hertz:.1f} s"
        )
    short.answer(10 * short.usual + _ANSWER_SLACK)
    return milliseconds


def _crowded_trial(client: Client, long: Long, short: _Short, delay: float) -> float:
    count = os.cpu_count() or 1
    left = max(side_by_side(lambda line: _leave(client, line, delay), [long.line] * count))
    # Side by side, none of them is done sooner than one alone.
    most = (long.seconds - delay) / 2
    try:
        short.answer(most + short.usual)
    except CheckFailedError as error:
        raise CheckFailedError(
            f"not cancelled: {count} syntheses were left after {delay:.1f} s, and the next "
            f"request had to wait ({error})"
        ) from error
    return max(0.0, (time.perf_counter() - left - short.usual) * 1000)
