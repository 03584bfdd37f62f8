"""From samples to a WAV file, with the standard library alone."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable

_CHUNK = 24000


def to_pcm(samples: memoryview[float], check: Callable[[], None]) -> array[int]:
    """16-bit samples from numbers in [-1, 1]; ``check`` is called now and then and may raise."""
    pcm = array("h")
    for start in range(0, len(samples), _CHUNK):
        check()
        pcm.extend([int(value * 32767.0) for value in samples[start : start + _CHUNK].tolist()])
    return pcm


def resample(pcm: array[int], rate: int, wanted: int, check: Callable[[], None]) -> array[int]:
    """Another sampling rate, by straight lines between samples."""
    if rate == wanted or not pcm:
        return pcm
    result = array("h")
    padded = pcm + pcm[-1:]
    count = len(pcm) * wanted // rate
    for start in range(0, count, _CHUNK):
        check()
        for index in range(start, min(start + _CHUNK, count)):
            place, rest = divmod(index * rate, wanted)
            here = padded[place]
            result.append(here + (padded[place + 1] - here) * rest // wanted)
    return result


def encode(pcm: array[int], rate: int, *, stereo: bool) -> bytes:
    """A WAV file of 16-bit samples; stereo has the same on both sides."""
    if stereo:
        both = array("h", bytes(2 * len(pcm) * pcm.itemsize))
        both[0::2] = pcm
        both[1::2] = pcm
        pcm = both
    if sys.byteorder == "big":
        pcm = pcm[:]
        pcm.byteswap()
    channels = 2 if stereo else 1
    frame = channels * 2
    size = len(pcm) * 2
    header = struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        *(b"RIFF", 36 + size, b"WAVE", b"fmt ", 16, 1, channels),
        *(rate, rate * frame, frame, 16, b"data", size),
    )
    return header + pcm.tobytes()
