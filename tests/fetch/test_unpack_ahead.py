from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.binary.archives.ahead import ReadAhead


def source(*pieces: bytes) -> Callable[[int], bytes]:
    rest = iter(pieces)
    return lambda size: next(rest, b"")


@given(pieces=st.lists(st.binary(min_size=1, max_size=50)), sizes=st.lists(st.integers(1, 60)))
def test_the_bytes_come_whole_and_in_order(pieces: list[bytes], sizes: list[int]) -> None:
    found = b""
    wanted = iter(sizes)
    with ReadAhead(source(*pieces)) as ahead:
        while data := ahead.read(size := next(wanted, 7)):
            assert len(data) <= size
            found += data
        assert ahead.read(1) == b""
    assert found == b"".join(pieces)


def test_a_failure_comes_after_the_bytes_before_it() -> None:
    rest = iter([b"one", b"two"])

    def read(size: int) -> bytes:
        for piece in rest:
            return piece
        raise EOFError("it ends early")

    with ReadAhead(read) as ahead:
        assert [ahead.read(9), ahead.read(9)] == [b"one", b"two"]
        with pytest.raises(EOFError):
            ahead.read(9)
        assert ahead.read(9) == b""


def test_it_does_not_run_far_ahead_and_ends_with_its_block() -> None:
    asked = []

    def read(size: int) -> bytes:
        asked.append(size)
        return b"x"

    before = threading.active_count()
    with ReadAhead(read) as ahead:
        ahead.read(1)
        while len(asked) < 6:
            time.sleep(0.001)
    assert threading.active_count() == before
    assert len(asked) <= 8


def test_who_gives_up_does_not_wait_for_a_read_that_hangs() -> None:
    gone = threading.Event()

    def read(size: int) -> bytes:
        gone.wait(60)
        return b""

    with pytest.raises(RuntimeError), ReadAhead(read, gone.set):
        raise RuntimeError
    assert gone.is_set()
