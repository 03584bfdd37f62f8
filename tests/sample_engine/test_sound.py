import io
import json
import subprocess
import sys
import wave
from array import array
from pathlib import Path

import pytest

ORACLE = Path(__file__).with_name("oracle.py")
HELLO = "こんにちは、せかい。"


def read(wav):
    with wave.open(io.BytesIO(wav)) as source:
        assert source.getsampwidth() == 2
        samples = array("h", source.readframes(source.getnframes()))
        return samples, source.getframerate(), source.getnchannels()


def samples(engine, text, speaker=0, **changes):
    return read(engine.speak(engine.query(text, **changes), speaker))[0]


def test_the_answer_is_a_wav_file(engine):
    answer = engine.client.post("/synthesis", params={"speaker": 0}, json=engine.query(HELLO))
    assert answer.headers["content-type"] == "audio/wav"
    pcm, rate, channels = read(answer.content)
    assert (rate, channels) == (24000, 1)
    assert len(answer.content) == 44 + 2 * len(pcm)


@pytest.mark.parametrize("speaker", range(4))
@pytest.mark.parametrize("text", [HELLO, "abc 123", "声🎤", "がぎぐげご" * 8])
def test_every_style_can_be_heard_and_never_clips(engine, speaker, text):
    pcm = samples(engine, text, speaker)
    peak = max(map(abs, pcm)) / 32767
    assert 0.2 < peak < 0.9
    # Sound for most of the time, not a click in silence.
    blocks = [max(map(abs, pcm[i : i + 2400])) for i in range(0, len(pcm) - 2400, 2400)]
    assert sum(block > 500 for block in blocks) > len(blocks) / 2


def test_a_sound_begins_and_ends_in_silence_without_a_jump(engine):
    pcm = samples(engine, HELLO)
    assert set(pcm[:2000]) == set(pcm[-2000:]) == {0}
    start = next(index for index, value in enumerate(pcm) if value)
    assert max(map(abs, pcm[start : start + 48])) < 0.05 * 32767


def test_the_same_text_is_the_same_sound_and_another_one_is_another(engine):
    texts = [
        HELLO,
        "こんにちは、せかぃ。",
        "hello",
        "hellp",
        "あ",
        "ア",
        "い",
        "　",
        "あ。い",
        "あ、い",
    ]
    sounds = [engine.speak(engine.query(text)) for text in texts]
    assert sounds == [engine.speak(engine.query(text)) for text in texts]
    assert len(set(sounds)) == len(sounds)


def test_styles_sound_different(engine):
    query = engine.query(HELLO)
    assert len({engine.speak(query, style) for style in range(4)}) == 4


def test_both_ways_of_synthesis_give_the_same_bytes(engine):
    query = engine.query(HELLO)
    assert engine.speak(query) == engine.speak(query, path="/cancellable_synthesis")


def test_stereo_has_the_mono_sound_on_both_sides(engine):
    mono = samples(engine, HELLO)
    both, _, channels = read(engine.speak(engine.query(HELLO, outputStereo=True)))
    assert channels == 2
    assert both[0::2] == both[1::2] == mono


@pytest.mark.parametrize("rate", [8000, 44100, 48000])
def test_another_sampling_rate_is_as_long_and_as_loud(engine, rate):
    mono = samples(engine, HELLO)
    pcm, given, _ = read(engine.speak(engine.query(HELLO, outputSamplingRate=rate)))
    assert given == rate
    assert abs(len(pcm) / rate - len(mono) / 24000) < 1e-3
    assert max(map(abs, pcm)) > 0.8 * max(map(abs, mono))


def test_twice_the_speed_is_half_the_length(engine):
    slow, fast = samples(engine, HELLO), samples(engine, HELLO, speedScale=2)
    assert abs(len(fast) - len(slow) / 2) <= 2 * 256


def test_half_the_volume_is_softer_and_none_is_silent(engine):
    loud, soft = samples(engine, HELLO), samples(engine, HELLO, volumeScale=0.5)
    assert max(map(abs, soft)) < 0.75 * max(map(abs, loud))
    assert set(samples(engine, HELLO, volumeScale=0)) == {0}


@pytest.mark.parametrize("change", [{"pitchScale": 0.1}, {"intonationScale": 0.2}])
def test_pitch_and_intonation_change_the_sound_and_not_its_length(engine, change):
    plain, changed = samples(engine, HELLO), samples(engine, HELLO, **change)
    assert len(plain) == len(changed)
    assert plain != changed


def test_pauses_can_be_set_and_scaled(engine):
    without = len(samples(engine, "あ、い", pauseLength=0))
    one = len(samples(engine, "あ、い", pauseLength=1.0))
    two = len(samples(engine, "あ、い", pauseLength=1.0, pauseLengthScale=2.0))
    assert one - without == two - one == pytest.approx(24000, abs=2 * 256)


def test_a_question_rises_unless_it_is_told_not_to(engine):
    query = engine.query("そうですか？")
    ask = {"speaker": 0, "enable_interrogative_upspeak": False}
    flat = engine.client.post("/synthesis", params=ask, json=query).content
    assert flat != engine.speak(query)


def oracle(root, query, style):
    done = subprocess.run(
        [sys.executable, str(ORACLE), str(root), str(style)],
        input=json.dumps(query).encode(),
        capture_output=True,
        check=True,
        timeout=120,
    )
    return array("h", done.stdout)


def farthest(left, right):
    assert len(left) == len(right)
    return max(abs(a - b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("style", [0, 3])
def test_samples_are_those_of_the_python_package(engine, engine_root, style):
    query = engine.query("おなじモデル、おなじ音。same numbers?")
    ours = read(engine.speak(query, style))[0]
    # One step of 16 bits: two builds of one version may round the last bit differently.
    assert farthest(ours, oracle(engine_root, query, style)) <= 1
