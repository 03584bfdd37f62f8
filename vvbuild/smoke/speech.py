"""Is this sound, and can it be speech? With the standard library alone."""

from __future__ import annotations

import math
import struct
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from operator import mul

from vvbuild.smoke.checks import CheckFailedError

_FULL = 32768
_LIMITS = (_FULL - 1, 1 - _FULL, -_FULL)
# Speech has an RMS of -30 to -15 dBFS and peaks near 0; this is 40 dB and more below that.
_SILENT_RMS = 0.002
_SILENT_PEAK = 0.01
# A loud syllable may touch the limit; a broken scale stays there.
_CLIPPED_SHARE = 0.01
# The query's lengths are a promise; engines round them to frames.
_LENGTH_FACTOR, _LENGTH_SLACK = 1.5, 0.3
_PCM = 1


@dataclass(frozen=True, slots=True)
class Sound:
    """16-bit PCM; ``samples`` has the channels interleaved."""

    rate: int
    channels: int
    samples: array[int]

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.samples) / self.channels / self.rate


@dataclass(frozen=True, slots=True)
class Loudness:
    """Of full scale: the loudest sample, the effective value without its mean, what is cut off."""

    peak: float
    rms: float
    clipped: float

    def __str__(self) -> str:
        return f"RMS {_db(self.rms)}, peak {_db(self.peak)}"


def read_wav(data: bytes) -> Sound:
    """Take a RIFF WAV file apart.

    Raises :class:`CheckFailedError` for what is no whole WAV file of 16-bit PCM, which is what
    VOICEVOX ENGINE answers with.
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise CheckFailedError(f"no RIFF WAV: it begins with {data[:12]!r}")
    if struct.unpack_from("<I", data, 4)[0] + 8 != len(data):
        raise CheckFailedError("the WAV's length is not what its header says")
    chunks = dict(_chunks(data))
    if len(chunks.get(b"fmt ", b"")) < 16 or b"data" not in chunks:
        raise CheckFailedError("the WAV has no format or no data")
    code, channels, rate, _, frame, bits = struct.unpack_from("<HHIIHH", chunks[b"fmt "])
    if code != _PCM or bits != 16 or channels not in (1, 2) or frame != 2 * channels or not rate:
        raise CheckFailedError(
            f"the WAV is not 16-bit PCM: format {code}, {channels} channels, {bits} bits, {rate} Hz"
        )
    if len(chunks[b"data"]) % frame:
        raise CheckFailedError("the WAV's data end within a sample")
    samples = array("h", chunks[b"data"])
    if sys.byteorder == "big":
        samples.byteswap()
    return Sound(rate, channels, samples)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = 12
    while position + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, position)
        position += 8
        if position + size > len(data):
            raise CheckFailedError(f"the WAV is cut off within its chunk {name!r}")
        yield name, data[position : position + size]
        position += size + size % 2


def loudness(sound: Sound) -> Loudness:
    """Measure every sample."""
    samples = sound.samples
    if not samples:
        return Loudness(0.0, 0.0, 0.0)
    count = len(samples)
    mean = sum(samples) / count
    power = max(0.0, sum(map(mul, samples, samples)) / count - mean * mean)
    peak = max(max(samples), -min(samples))
    clipped = sum(samples.count(value) for value in _LIMITS) / count
    return Loudness(peak / _FULL, math.sqrt(power) / _FULL, clipped)


def judge(data: bytes, *, rate: int, expected: float) -> Sound:
    """Accept an answer as speech of ``rate`` Hz and about ``expected`` seconds.

    Raises :class:`CheckFailedError` with what is wrong.
    """
    sound = read_wav(data)
    if sound.rate != rate:
        raise CheckFailedError(f"the WAV has {sound.rate} Hz, the query asks for {rate} Hz")
    loud = loudness(sound)
    if loud.rms < _SILENT_RMS or loud.peak < _SILENT_PEAK:
        raise CheckFailedError(f"silence: {loud}")
    if loud.clipped > _CLIPPED_SHARE:
        raise CheckFailedError(f"clipped: {loud.clipped:.0%} of the samples are at the limit")
    least, most = expected / _LENGTH_FACTOR - _LENGTH_SLACK, expected * _LENGTH_FACTOR
    if not least <= sound.seconds <= most + _LENGTH_SLACK:
        raise CheckFailedError(
            f"{sound.seconds:.2f} s of sound where the query's lengths add up to {expected:.2f} s"
        )
    return sound


def describe(sound: Sound) -> str:
    """The sound in a few words."""
    return f"{sound.seconds:.2f} s, {sound.rate} Hz, {loudness(sound)}"


def _db(share: float) -> str:
    return f"{20 * math.log10(share):.0f} dBFS" if share > 0 else "-∞ dBFS"
