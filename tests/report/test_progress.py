from __future__ import annotations

import io
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vvbuild.model.events import Event, Note, Progress, StepFinished, StepStarted
from vvbuild.report import progress
from vvbuild.report.progress import Bars, PlainLines, Quiet, amount

NAMES = st.sampled_from(["a", "b", "[/bold]", "\x1b[2J", "長い" * 40, ""])
EVENTS = st.one_of(
    st.builds(StepStarted, NAMES),
    st.builds(StepFinished, NAMES, st.booleans(), st.floats(0, 1e6)),
    st.builds(
        Progress, NAMES, st.integers(0, 1 << 50), st.none() | st.integers(0, 1 << 50),
        st.sampled_from(["bytes", "files", "%", "\n"]),
    ),
    st.builds(Note, st.text(), st.sampled_from(["info", "debug", "warning"])),
)  # fmt: skip


def console(stream: io.StringIO, *, terminal: bool = True):
    from rich.console import Console

    return Console(file=stream, force_terminal=terminal, width=80, color_system=None)


@given(st.lists(EVENTS, max_size=20), st.booleans())
def test_plain_lines_take_any_events_in_any_order(events: list[Event], verbose: bool) -> None:
    stream = io.StringIO()
    with PlainLines(stream, verbose=verbose) as listener:
        for event in events:
            listener(event)

    assert not any(ord(each) < 32 and each != "\n" for each in stream.getvalue())
    assert stream.getvalue().count("\n") <= len(events)


@settings(deadline=None, max_examples=40)
@given(st.lists(EVENTS, max_size=20), st.booleans())
def test_bars_take_any_events_in_any_order(events: list[Event], verbose: bool) -> None:
    stream = io.StringIO()
    with Bars(console(stream), verbose=verbose) as listener:
        for event in events:
            listener(event)

    assert "\x1b[2J" not in stream.getvalue()


def test_bars_show_names_literally() -> None:
    stream = io.StringIO()
    with Bars(console(stream), verbose=True) as bars:
        bars(StepStarted("fetch a[bold].whl"))
        bars(StepFinished("fetch a[bold].whl", cached=False, seconds=1.25))
        bars(StepFinished("unpack [/red]", cached=True, seconds=0.0))
        bars(Note("a [note]"))

    text = stream.getvalue()
    assert "✓ fetch a[bold].whl  1.2 s" in text
    assert "· unpack [/red]  already done" in text
    assert "a [note]" in text


def test_listeners_hear_from_many_threads() -> None:
    stream = io.StringIO()
    lines = PlainLines(stream)
    threads = [
        threading.Thread(target=lambda n=n: [lines(Note(f"{n} {i}")) for i in range(50)])
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(stream.getvalue().splitlines()) == 400
    assert all(line.startswith("[") for line in stream.getvalue().splitlines())


def said(listener_options: dict[str, bool], *events: Event) -> list[str]:
    stream = io.StringIO()
    lines = PlainLines(stream, **listener_options)
    for event in events:
        lines(event)
    return [line.split("] ", 1)[1] for line in stream.getvalue().splitlines()]


ALL = (
    StepStarted("fetch"),
    StepFinished("fetch", cached=False, seconds=2.0),
    StepFinished("freeze", cached=True, seconds=0.0),
    Note("told"),
    Note("whispered", level="debug"),
)


def test_what_was_there_already_is_told_only_to_who_asks() -> None:
    assert said({}, *ALL) == ["fetch …", "fetch: done in 2.0 s", "told"]
    assert said({"verbose": True}, *ALL) == [
        "fetch …", "fetch: done in 2.0 s", "freeze: already done", "told", "whispered",
    ]  # fmt: skip


def test_a_long_transfer_shows_life_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    lines = PlainLines(stream)
    for second in range(31):
        now[0] = float(second)
        lines(Progress("big", second << 20, 30 << 20))

    assert [line.split("] ")[1] for line in stream.getvalue().splitlines()] == [
        "big: 10.0 MiB of 30.0 MiB", "big: 20.0 MiB of 30.0 MiB", "big: 30.0 MiB of 30.0 MiB",
    ]  # fmt: skip


def test_a_listener_without_a_reader_does_not_stop_the_work() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    PlainLines(Gone())(Note("anybody?"))


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with Quiet() as quiet:
        for event in ALL:
            quiet(event)

    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Progress("x", 0, None), "0 B"),
        (Progress("x", 1 << 20, 2 << 20), "1.0 MiB of 2.0 MiB"),
        (Progress("x", 3, 8, "files"), "3 of 8 files"),
        (Progress("x", 3, None, "files"), "3 files"),
    ],
)
def test_amounts_for_people(event: Progress, text: str) -> None:
    assert amount(event) == text
