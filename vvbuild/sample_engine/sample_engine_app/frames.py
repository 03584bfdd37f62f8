"""From an audio query to the rows that the model takes: a phoneme, a pitch and a gain a frame."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from .errors import QueryError
from .schema import AudioQuery, Mora

MAX_FRAMES = 400_000  # 71 minutes; about what the longest text allowed can make
BASE_GAIN = 0.3
FADE = (0.25, 0.6)  # the gain of the first frames of a sound, and of the last ones backwards
GLIDE = 0.3  # how much of the way to a mora's pitch is gone in one frame
UPSPEAK = 0.3
FIRST_PITCH = 5.5

# Vowels without voice are breath with the mouth of that vowel.
_DEVOICED = {"A": "h", "I": "hy", "U": "f", "E": "h", "O": "h"}


@dataclass(frozen=True)
class Frames:
    """Three columns of equal length; the model makes sound *between* consecutive rows."""

    phoneme: array[int]
    pitch: array[float]
    gain: array[float]

    def __len__(self) -> int:
        return len(self.phoneme)


@dataclass(frozen=True)
class _Sound:
    phoneme: str
    seconds: float
    pitch: float


def make_frames(
    query: AudioQuery,
    phonemes: Mapping[str, int],
    frame_rate: float,
    *,
    upspeak: bool,
    check: Callable[[], None],
) -> Frames:
    """Lay a query out in frames; ``check`` is called now and then and may raise.

    Raises :class:`QueryError` for unknown phonemes, and for more than an hour of sound.
    """
    silence = phonemes["pau"]
    frames = Frames(array("q", [silence]), array("f", [FIRST_PITCH]), array("f", [0.0]))
    gain = BASE_GAIN * query.volumeScale
    pitch = _first_pitch(query)
    elapsed = 0.0
    for sound in _sounds(query, upspeak=upspeak):
        check()
        number = phonemes.get(sound.phoneme)
        if number is None:
            raise QueryError(f"unknown phoneme {sound.phoneme!r}")
        # Lengths are summed before they are rounded, so that errors do not add up.
        elapsed += sound.seconds / query.speedScale
        end = 1 + round(elapsed * frame_rate)
        if end > MAX_FRAMES:
            raise QueryError(f"longer than {MAX_FRAMES / frame_rate:.0f} seconds")
        count = end - len(frames)
        target = sound.pitch + query.pitchScale * math.log(2) if sound.pitch else pitch
        frames.phoneme.extend([number] * count)
        frames.gain.extend([0.0 if number == silence else gain] * count)
        for _ in range(count):
            pitch += (target - pitch) * GLIDE
            frames.pitch.append(pitch)
    # The last row is silence, so that the sound always has an end, and always a frame.
    frames.phoneme.append(silence)
    frames.pitch.append(pitch)
    frames.gain.append(0.0)
    _fade(frames.gain)
    return frames


def _sounds(query: AudioQuery, *, upspeak: bool) -> Iterator[_Sound]:
    mean = _mean_pitch(query)
    yield _Sound("pau", query.prePhonemeLength, 0.0)
    for phrase in query.accent_phrases:
        last = len(phrase.moras) - 1
        for index, mora in enumerate(phrase.moras):
            pitch = _intoned(mora.pitch, mean, query.intonationScale)
            if pitch and upspeak and phrase.is_interrogative and index == last:
                pitch += UPSPEAK
            if mora.consonant is not None:
                yield _Sound(mora.consonant, mora.consonant_length or 0.0, pitch)
            yield _Sound(_DEVOICED.get(mora.vowel, mora.vowel), mora.vowel_length, pitch)
        if phrase.pause_mora is not None:
            yield _Sound("pau", _pause_length(query, phrase.pause_mora), 0.0)
    yield _Sound("pau", query.postPhonemeLength, 0.0)


def _pause_length(query: AudioQuery, pause: Mora) -> float:
    length = pause.vowel_length if query.pauseLength is None else query.pauseLength
    return length * query.pauseLengthScale


def _intoned(pitch: float, mean: float, scale: float) -> float:
    return max(mean + (pitch - mean) * scale, 0.1) if pitch > 0 else 0.0


def _voiced(query: AudioQuery) -> Iterator[float]:
    for phrase in query.accent_phrases:
        yield from (mora.pitch for mora in phrase.moras if mora.pitch > 0)


def _mean_pitch(query: AudioQuery) -> float:
    pitches = list(_voiced(query))
    return math.fsum(pitches) / len(pitches) if pitches else 0.0


def _first_pitch(query: AudioQuery) -> float:
    return next(_voiced(query), FIRST_PITCH)


def _fade(gain: array[float]) -> None:
    """Soften both ends of every stretch of sound between two silences."""
    start = None
    for index, value in enumerate(gain):
        if value > 0 and start is None:
            start = index
        elif value <= 0 and start is not None:
            for offset, factor in enumerate(FADE[: (index - start) // 2]):
                gain[start + offset] *= factor
                gain[index - 1 - offset] *= factor
            start = None
