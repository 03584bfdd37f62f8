import io
import wave
from array import array

import hypothesis.strategies as st
import pytest
from hypothesis import given

from vvbuild.sample_engine.sample_engine_app.frames import FADE, make_frames
from vvbuild.sample_engine.sample_engine_app.kana import accent_phrases, to_notation
from vvbuild.sample_engine.sample_engine_app.schema import AudioQuery
from vvbuild.sample_engine.sample_engine_app.wav import encode, resample, to_pcm
from vvbuild.sample_engine.tools.make_model import PHONEMES

RATE = 93.75
NUMBERS = {name: number for number, name in enumerate(PHONEMES)}


def no_check():
    pass


def query(text, **changes):
    plain = {
        "accent_phrases": accent_phrases(text),
        "speedScale": 1,
        "pitchScale": 0,
        "intonationScale": 1,
        "volumeScale": 1,
        "prePhonemeLength": 0.1,
        "postPhonemeLength": 0.1,
        "outputSamplingRate": 24000,
        "outputStereo": False,
    }
    return AudioQuery(**{**plain, **changes})


def sounds(text):
    """What is heard of a text: all of its moras but the letters shown."""
    return [
        (mora.consonant, mora.consonant_length, mora.vowel, mora.vowel_length, mora.pitch)
        for phrase in accent_phrases(text)
        for mora in phrase.moras
    ]


@given(st.text(max_size=60))
def test_any_text_becomes_phonemes_that_the_model_has(text):
    for phrase in accent_phrases(text):
        assert 1 <= phrase.accent <= len(phrase.moras)
        for mora in phrase.moras:
            assert {mora.consonant or "pau", mora.vowel} <= NUMBERS.keys()
            assert mora.vowel_length > 0
    assert accent_phrases(text) == accent_phrases(text)


@given(st.text(max_size=60))
def test_every_letter_is_heard_or_is_a_pause(text):
    moras = sum(len(phrase.moras) for phrase in accent_phrases(text))
    assert moras <= len(text)
    if text.isalnum() and text.isascii():
        assert moras == len(text)


def test_no_two_kana_sound_the_same():
    kana = [chr(code) for code in (*range(0x3041, 0x3097), *range(0x30A1, 0x30FB))]
    heard = [tuple(sounds(letter)[0]) for letter in kana]
    assert len(set(heard)) == len(kana)


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("かきくけこ", "ka ki ku ke ko"),
        ("シャチ", "sha chi"),
        ("きゃりゅひょ", "kya ryu hyo"),
        ("ふぁてぃヴぇ", "fa ti ve"),
        ("らーめん", "ra a me N"),
        ("がっこう", "ga cl ko u"),
        ("つづじぢ", "tsu zu ji ji"),
    ],
)
def test_kana_sound_like_themselves(text, heard):
    moras = [mora for phrase in accent_phrases(text) for mora in phrase.moras]
    assert " ".join((mora.consonant or "") + mora.vowel for mora in moras) == heard


def test_a_pause_is_where_one_is_written():
    phrases = accent_phrases("あ、い うえ？\n\nお")
    assert [phrase.pause_mora is not None for phrase in phrases] == [True, True, True, False]
    assert [phrase.is_interrogative for phrase in phrases] == [False, False, True, False]
    assert to_notation(phrases).count("、") == 3


def test_a_text_without_pauses_is_cut_into_phrases():
    phrases = accent_phrases("あ" * 50)
    assert max(len(phrase.moras) for phrase in phrases) <= 10
    assert all(phrase.pause_mora is None for phrase in phrases)


@given(st.text("あいかさんー、。？ab", max_size=30), st.floats(0.5, 2), st.floats(0, 1))
def test_frames_last_as_long_as_the_query_says(text, speed, silence):
    asked = query(text, speedScale=speed, prePhonemeLength=silence)
    frames = make_frames(asked, NUMBERS, RATE, upspeak=True, check=no_check)
    seconds = asked.prePhonemeLength + asked.postPhonemeLength
    for phrase in asked.accent_phrases:
        pause = [phrase.pause_mora] if phrase.pause_mora else []
        for mora in (*phrase.moras, *pause):
            seconds += (mora.consonant_length or 0) + mora.vowel_length
    # A row to begin with, and one to end in silence; and no error that adds up.
    assert len(frames) - 2 == pytest.approx(seconds / speed * RATE, abs=0.51)
    assert len(frames.phoneme) == len(frames.pitch) == len(frames.gain)
    assert frames.gain[0] == frames.gain[-1] == 0
    assert all(pitch > 0 for pitch in frames.pitch)


def test_sound_fades_in_and_out_beside_every_silence():
    frames = make_frames(query("あああ、いいい"), NUMBERS, RATE, upspeak=True, check=no_check)
    loud = max(frames.gain)
    edges = [
        index
        for index in range(1, len(frames))
        if (frames.gain[index] > 0) != (frames.gain[index - 1] > 0)
    ]
    assert len(edges) == 4
    for start, end in (edges[:2], edges[2:]):
        for offset, factor in enumerate(FADE):
            expected = pytest.approx(loud * factor)
            assert frames.gain[start + offset] == frames.gain[end - 1 - offset] == expected


def test_a_voiceless_vowel_is_breath():
    asked = query("し")
    asked.accent_phrases[0].moras[0].vowel = "I"
    frames = make_frames(asked, NUMBERS, RATE, upspeak=True, check=no_check)
    assert NUMBERS["hy"] in frames.phoneme


samples = st.lists(st.integers(-32768, 32767), max_size=300).map(lambda v: array("h", v))


@given(samples, st.integers(4000, 192000), st.booleans())
def test_a_wav_file_holds_what_was_put_in(pcm, rate, stereo):
    with wave.open(io.BytesIO(encode(pcm, rate, stereo=stereo))) as read:
        assert read.getframerate() == rate
        assert read.getnchannels() == (2 if stereo else 1)
        content = array("h", read.readframes(read.getnframes()))
    assert content[:: 2 if stereo else 1] == pcm


@given(samples, st.integers(4000, 192000))
def test_resampling_keeps_length_and_range(pcm, rate):
    other = resample(pcm, 24000, rate, no_check)
    assert len(other) == len(pcm) * rate // 24000
    if len(other):
        assert min(pcm) <= min(other) <= max(other) <= max(pcm)


def test_every_long_step_asks_whether_to_go_on():
    class StopError(Exception):
        pass

    def stop():
        raise StopError

    with pytest.raises(StopError):
        make_frames(query("あ"), NUMBERS, RATE, upspeak=True, check=stop)
    with pytest.raises(StopError):
        to_pcm(memoryview(array("f", [0.0])), stop)
    with pytest.raises(StopError):
        resample(array("h", [0]), 24000, 48000, stop)


def test_samples_are_scaled_to_sixteen_bits():
    pcm = to_pcm(memoryview(array("f", [0.0, 1.0, -1.0, 0.5])), no_check)
    assert pcm.tolist() == [0, 32767, -32767, 16383]
