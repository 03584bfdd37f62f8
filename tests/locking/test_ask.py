"""Many questions side by side."""

from __future__ import annotations

import pytest

from vvbuild.errors import (
    CancelledError,
    DigestMismatchError,
    NetworkError,
    NotFoundOnServerError,
    VvbuildError,
)
from vvbuild.fetch.session import Session
from vvbuild.locking.ask import ask_each, together
from vvbuild.locking.means import Means
from vvbuild.model.events import Event, Progress
from vvbuild.runtime.cancel import Cancel


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def means(events: list[Event]) -> Means:
    return Means(Session(), events.append, Cancel())


def test_answers_come_in_the_order_of_the_questions(means: Means, events: list[Event]) -> None:
    assert ask_each(range(9), lambda item, _: item * 2, means, task="x") == list(range(0, 18, 2))
    assert events[-1] == Progress("x", 9, 9, "artifacts")
    assert ask_each([], lambda item, _: item, means, task="x") == []


def test_after_a_server_that_cannot_be_asked_the_rest_is_left(means: Means) -> None:
    dead = NetworkError("nobody there")

    def ask(item: int, inner: Means) -> int:
        if item == 0:
            raise dead
        inner.cancel.wait(30)
        inner.cancel.check()
        return item

    assert ask_each(range(20), ask, means, task="x") == [dead, *[None] * 19]
    assert not means.cancel.is_set()


def test_that_something_is_not_there_does_not_end_the_rest(means: Means) -> None:
    gone = NotFoundOnServerError("gone")

    def ask(item: int, _: Means) -> int:
        if item == 0:
            raise gone
        return item

    assert ask_each(range(20), ask, means, task="x") == [gone, *range(1, 20)]


def test_to_the_end_everything_is_asked(means: Means) -> None:
    def ask(item: int, _: Means) -> int:
        raise NetworkError(str(item))

    answers = ask_each(range(20), ask, means, task="x", to_the_end=True)

    assert [str(answer) for answer in answers] == [str(item) for item in range(20)]


def test_an_interruption_ends_all(means: Means) -> None:
    def ask(item: int, inner: Means) -> int:
        if item == 3:
            means.cancel.set()
        inner.cancel.wait(30)
        inner.cancel.check()
        return item

    with pytest.raises(CancelledError):
        ask_each(range(20), ask, means, task="x")


def test_a_fault_of_our_own_is_not_hidden(means: Means) -> None:
    with pytest.raises(ZeroDivisionError):
        ask_each([1, 0, 1], lambda item, _: 1 // item, means, task="x")


def test_one_failure_stays_what_it_is_and_keeps_its_hint() -> None:
    alone = NetworkError("no", hint="Wait.")

    assert together({"a": alone}, "1 of 2 failed", "Or not.") is alone
    assert alone.hint == "Wait. Or not."


def test_the_gravest_failure_gives_the_kind_and_each_is_named() -> None:
    failures: dict[str, VvbuildError] = {
        "a": NotFoundOnServerError("gone"), "b": NetworkError("dead"),
        "c": DigestMismatchError("other bytes", hint="Ask."),
    }  # fmt: skip

    error = together(failures, "3 of 9 artifacts failed")

    assert type(error) is DigestMismatchError
    assert error.message == "3 of 9 artifacts failed. other bytes"
    assert error.context == {"a": "gone", "b": "dead", "c": "other bytes"}
    assert error.hint == "Ask."
    del failures["c"]
    assert type(together(failures, "2")) is NetworkError
    del failures["b"]
    assert together(failures, "1").message == "gone"
