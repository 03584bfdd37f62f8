import math
import struct
from array import array

import pytest

from vvbuild.smoke.checks import CheckFailedError
from vvbuild.smoke.speech import judge, loudness, read_wav

RATE = 24000


def tone(seconds=1.0, level=0.3, offset=0.0):
    steps = range(int(seconds * RATE))
    values = (math.sin(2 * math.pi * 440 * step / RATE) * level + offset for step in steps)
    return array("h", [max(-32768, min(32767, int(value * 32768))) for value in values])


def wav(samples, *, code=1, channels=1, rate=RATE, bits=16, extra=b""):
    frame = channels * bits // 8
    data = samples.tobytes() if isinstance(samples, array) else samples
    fmt = struct.pack("<4sIHHIIHH", b"fmt ", 16, code, channels, rate, rate * frame, frame, bits)
    body = b"WAVE" + fmt + extra + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def accept(data, rate=RATE, expected=1.0):
    return judge(data, rate=rate, expected=expected)


def test_a_tone_of_the_right_length_is_accepted():
    sound = accept(wav(tone()))
    assert (sound.rate, sound.channels, sound.seconds) == (RATE, 1, 1.0)


def test_stereo_counts_frames_and_not_samples():
    assert accept(wav(tone(2.0), channels=2)).seconds == 1.0


def test_unknown_chunks_are_passed_over_with_their_padding():
    extra = b"LIST" + struct.pack("<I", 3) + b"abc\0"
    assert accept(wav(tone(), extra=extra)).samples == tone()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no RIFF"),
        (b"<html>Internal Server Error</html>", "no RIFF"),
        (wav(tone())[:-100], "length"),
        (wav(tone()) + b"x", "length"),
        (wav(tone(), code=3, bits=32), "16-bit"),
        (wav(tone(), bits=8), "16-bit"),
        (wav(tone(), rate=0), "16-bit"),
        (wav(b"abc"), "within a sample"),
        (wav(array("h")), "silence"),
        (wav(array("h", [0] * RATE)), "silence"),
        (wav(tone(level=0.001)), "silence"),
        (wav(array("h", [9000] * RATE)), "silence"),
        (wav(tone(level=1.5)), "clipped"),
        (wav(tone(0.3)), "add up to"),
        (wav(tone(2.0)), "add up to"),
    ],
)
def test_what_is_no_speech_is_refused_with_the_reason(data, reason):
    with pytest.raises(CheckFailedError, match=reason):
        accept(data)


def test_another_rate_than_the_querys_is_refused():
    with pytest.raises(CheckFailedError, match="48000"):
        accept(wav(tone()), rate=48000)


def test_a_chunk_that_claims_more_than_there_is_is_cut_off():
    data = bytearray(wav(tone()))
    struct.pack_into("<I", data, 40, 1 << 30)
    with pytest.raises(CheckFailedError, match="cut off"):
        read_wav(bytes(data))


@pytest.mark.parametrize("cut", range(46))
def test_no_truncated_header_is_more_than_a_failed_check(cut):
    with pytest.raises(CheckFailedError):
        accept(wav(tone())[:cut])


def test_loudness_of_a_sine_is_its_level():
    loud = loudness(read_wav(wav(tone(level=0.5, offset=0.1))))
    assert loud.rms == pytest.approx(0.5 / math.sqrt(2), rel=0.01)
    assert loud.peak == pytest.approx(0.6, rel=0.01)
    assert loud.clipped == 0


def test_a_touch_of_the_limit_is_not_clipping():
    samples = tone()
    samples[100] = 32767
    samples[200] = -32768
    assert accept(wav(samples)).seconds == 1.0
