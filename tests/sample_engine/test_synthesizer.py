import io
import wave
from array import array
from pathlib import Path

import pytest

import vvbuild.sample_engine
from vvbuild.ort import Library, RunOptions, Terminated
from vvbuild.sample_engine.sample_engine_app import synthesizer as module
from vvbuild.sample_engine.sample_engine_app.kana import accent_phrases
from vvbuild.sample_engine.sample_engine_app.schema import AudioQuery
from vvbuild.sample_engine.sample_engine_app.synthesizer import Synthesizer
from vvbuild.sample_engine.sample_engine_app.voice_model import load_models
from vvbuild.sample_engine.tools.make_model import NOISE_ROWS

ROOT = Path(vvbuild.sample_engine.__file__).parent


@pytest.fixture(scope="module")
def library(ort_path):
    return Library(ort_path)


@pytest.fixture(scope="module")
def synthesizer(library):
    synthesizer = Synthesizer(library, load_models((ROOT,)))
    yield synthesizer
    synthesizer.close()


@pytest.fixture
def options(library):
    with RunOptions(library) as options:
        yield options


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


def samples(wav):
    with wave.open(io.BytesIO(wav)) as source:
        return array("h", source.readframes(source.getnframes()))


@pytest.mark.parametrize("frames", [16, 48])
def test_a_sound_made_in_segments_is_the_sound_of_one_run(
    synthesizer, options, monkeypatch, frames
):
    asked = query("ながい、ぶんしょう")
    whole = samples(synthesizer.synthesize(asked, 0, options))
    monkeypatch.setattr(module, "SEGMENT_FRAMES", frames)
    assert samples(synthesizer.synthesize(asked, 0, options)) == whole


def test_segments_hold_whole_turns_of_the_noise():
    assert module.SEGMENT_FRAMES % NOISE_ROWS == 0


def test_nothing_is_made_for_options_that_are_terminated(synthesizer, options):
    options.terminate()
    with pytest.raises(Terminated):
        synthesizer.synthesize(query("あ"), 0, options)
