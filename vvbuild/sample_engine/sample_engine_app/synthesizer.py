"""Sound from queries: sessions of ONNX Runtime, fed frame by frame."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass

from vvbuild.ort import (
    DType,
    Environment,
    Library,
    LogSeverity,
    OrtError,
    RunOptions,
    Session,
    SessionOptions,
    Tensor,
    Terminated,
)

from .errors import QueryError, StartError
from .frames import Frames, make_frames
from .schema import AudioQuery, Speaker
from .voice_model import VoiceModel
from .wav import encode, resample, to_pcm

# Frames a run: a minute and a half of sound, so that memory stays flat however long a text is.
# A multiple of 16, after which the model's noise repeats; else it would jump at the seams.
SEGMENT_FRAMES = 8192


@dataclass(frozen=True)
class _Voice:
    model: VoiceModel
    session: Session
    row: int


class Synthesizer:
    """All voices of the engine. Its methods may be called from several threads at once."""

    def __init__(
        self, library: Library, models: Iterable[VoiceModel], providers: tuple[str, ...] = ()
    ) -> None:
        self.speakers: list[Speaker] = []
        self._voices: dict[int, _Voice] = {}
        # One thread a run: several runs at once share the processors better than nodes do.
        options = SessionOptions(intra_op_threads=1, providers=providers)
        with ExitStack() as undo:
            # A cancelled run is no error; ONNX Runtime would log it as one.
            environment = Environment(library, log_severity=LogSeverity.FATAL, log_id="engine")
            undo.callback(environment.close)
            for model in models:
                session = _session(environment, model, options)
                undo.callback(session.close)
                self.speakers += model.speakers
                for style, row in model.styles.items():
                    self._voices[style] = _Voice(model, session, row)
            self._kept = undo.pop_all()

    def check_style(self, style: int) -> None:
        """Raise :class:`QueryError` if no voice has this style."""
        if style not in self._voices:
            raise QueryError(f"there is no style {style}")

    def sampling_rate(self, style: int) -> int:
        """Samples a second that the style's model makes."""
        return self._voices[style].model.sampling_rate

    def synthesize(
        self, query: AudioQuery, style: int, options: RunOptions, *, upspeak: bool = True
    ) -> bytes:
        """A WAV file of the query.

        Raises :class:`Terminated` soon after ``options.terminate()``, :class:`QueryError`
        for what the model cannot say, :class:`OrtError` if the inference fails.
        """
        self.check_style(style)
        voice = self._voices[style]
        model = voice.model

        def check() -> None:
            if options.terminate_requested:
                raise Terminated("terminate flag set outside of a run")

        rate = model.sampling_rate / model.samples_per_frame
        frames = make_frames(query, model.phonemes, rate, upspeak=upspeak, check=check)
        pcm = array("h")
        phase = [0.0] * _size_of(voice.session, "phase")
        for start in range(0, len(frames) - 1, SEGMENT_FRAMES):
            wave, phase = _run(voice, frames, start, phase, options)
            pcm += to_pcm(wave.values, check)
        pcm = resample(pcm, model.sampling_rate, query.outputSamplingRate, check)
        return encode(pcm, query.outputSamplingRate, stereo=query.outputStereo)

    def close(self) -> None:
        """Release the sessions; runs that still go on finish first."""
        self._kept.close()


def _run(
    voice: _Voice, frames: Frames, start: int, phase: list[float], options: RunOptions
) -> tuple[Tensor, list[float]]:
    """One segment: its samples, and the phases with which the next one begins."""
    # Segments share a row: sound is made between rows.
    part = slice(start, start + SEGMENT_FRAMES + 1)
    columns = frames.phoneme[part], frames.pitch[part], frames.gain[part]
    shape = (len(columns[0]),)
    result = voice.session.run(
        {
            "phoneme": Tensor(DType.INT64, shape, columns[0]),
            "pitch": Tensor(DType.FLOAT32, shape, columns[1]),
            "gain": Tensor(DType.FLOAT32, shape, columns[2]),
            "style": Tensor.of(DType.INT64, [voice.row]),
            "phase": Tensor.of(DType.FLOAT32, phase),
        },
        run_options=options,
    )
    return result["wave"], [float(value) for value in result["next_phase"].values]


def _session(environment: Environment, model: VoiceModel, options: SessionOptions) -> Session:
    try:
        return Session(environment, model.onnx, options)
    except OrtError as error:
        raise StartError(f"ONNX Runtime refused {model.path}: {error}") from error


def _size_of(session: Session, name: str) -> int:
    shape = next(info.shape for info in session.inputs if info.name == name)
    size = shape[0] if shape else None
    return size if isinstance(size, int) else 1
