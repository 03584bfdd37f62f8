from __future__ import annotations

import threading

import pytest

from vvbuild.errors import CancelledError
from vvbuild.runtime.cancel import Cancel


def test_a_flag_is_set_once_and_for_all() -> None:
    cancel = Cancel()
    assert not cancel.is_set()
    cancel.check()

    cancel.set()
    cancel.set()

    assert cancel.is_set()
    with pytest.raises(CancelledError) as caught:
        cancel.check()
    assert caught.value.exit_status == 130


def test_a_flag_that_is_not_set_is_a_flag() -> None:
    """`cancel or Cancel()` must not exchange it for one that nobody will ever set."""
    cancel = Cancel()

    assert (cancel or Cancel()) is cancel


def test_callbacks_are_called_when_it_is_set() -> None:
    cancel, calls = Cancel(), []
    cancel.add(lambda: calls.append("kept"))
    forget = cancel.add(lambda: calls.append("forgotten"))
    forget()
    forget()

    cancel.set()

    assert calls == ["kept"]


def test_a_callback_that_comes_too_late_is_called_at_once() -> None:
    cancel, calls = Cancel(), []
    cancel.set()
    cancel.add(lambda: calls.append("late"))

    assert calls == ["late"]


def test_who_waits_is_woken() -> None:
    cancel, woken = Cancel(), threading.Event()

    def wait() -> None:
        assert cancel.wait(60)
        woken.set()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    cancel.set()

    assert woken.wait(10)


def test_waiting_for_nothing_ends() -> None:
    assert not Cancel().wait(0.001)
