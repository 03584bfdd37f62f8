"""Checks of speech."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from vvbuild.smoke.answers import Query
from vvbuild.smoke.checks import CheckFailedError, Passed
from vvbuild.smoke.http import Client
from vvbuild.smoke.side_by_side import side_by_side
from vvbuild.smoke.speech import Sound, describe, judge

_OTHER_TEXTS = ("さようなら、また明日。", "本日は晴天なり。")


@dataclass(frozen=True, slots=True)
class Line:
    """Something to say, by a style: the query as the engine gave it, and what it promises."""

    style: int
    json: bytes
    query: Query


@dataclass(frozen=True, slots=True)
class Speech:
    """A line that was said. ``seconds`` is how long the engine took."""

    line: Line
    wav: bytes
    sound: Sound
    seconds: float


def ask(client: Client, style: int, text: str) -> Passed[Line]:
    """``/audio_query`` turns the text into something to say."""
    answer = client.post("/audio_query", {"text": text, "speaker": style})
    line = Line(style, answer.body, answer.decode(Query))
    if not line.query.moras():
        raise CheckFailedError(f"there is nothing to say in {text!r}")
    moras, seconds = line.query.moras(), line.query.seconds()
    return Passed(f"{moras} moras, {seconds:.2f} s, style {style}", line)


def say(
    client: Client, line: Line, path: str = "/synthesis", timeout: float | None = None
) -> Passed[Speech]:
    """A query becomes sound of the right length, neither silent nor clipped."""
    answer = client.post(path, {"speaker": line.style}, line.json, timeout).expect_success()
    sound = judge(answer.body, rate=line.query.output_sampling_rate, expected=line.query.seconds())
    detail = f"{describe(sound)}; took {answer.seconds:.2f} s"
    return Passed(detail, Speech(line, answer.body, sound, answer.seconds))


def say_another(client: Client, first: Speech, text: str) -> Passed[Speech]:
    """Another text sounds different: an engine that is stuck says the same again."""
    other = next(each for each in _OTHER_TEXTS if each != text)
    second = say(client, ask(client, first.line.style, other).value)
    if _same_beginning(first.sound, second.value.sound):
        raise CheckFailedError(f"{text!r} and {other!r} give the very same sound")
    return second


def say_both(client: Client, lines: tuple[Line, Line]) -> Passed[None]:
    """Two requests at once are both answered, each with its own sound."""
    first, second = (each.value for each in side_by_side(lambda line: say(client, line), lines))
    if _same_beginning(first.sound, second.sound):
        raise CheckFailedError("two different queries got the very same sound")
    return Passed(f"answered after {first.seconds:.2f} s and {second.seconds:.2f} s", None)


def _same_beginning(one: Sound, other: Sound) -> bool:
    length = min(len(one.samples), len(other.samples))
    return one.samples[:length] == other.samples[:length]


def lengthen(line: Line, times: int) -> Line:
    """The same line, said so many times in one breath."""
    document = msgspec.json.decode(line.json, type=dict[str, object])
    phrases = document["accent_phrases"]
    assert isinstance(phrases, list)
    document["accent_phrases"] = phrases * times
    json = msgspec.json.encode(document)
    return Line(line.style, json, msgspec.json.decode(json, type=Query))
