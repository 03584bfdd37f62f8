# /// script
# requires-python = ">=3.10"
# dependencies = ["onnx>=1.18"]
# ///
"""Make ``model/sample.vvm``: a small voice model whose sound is computed, not learnt.

The model is an additive synthesiser in ONNX: a Loop over frames, whose body looks up the
formants of a phoneme and the colour of a style, weighs the harmonics of a pitch with them,
runs a bank of oscillators, and adds filtered noise. It is a real inference of a real size
(tens of milliseconds for a second of sound), and it needs nobody's voice or data.

Needs the ``onnx`` package. Running it again gives the same bytes::

    python tools/make_model.py [OUTPUT]
"""

from __future__ import annotations

import json
import math
import random
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper

ENGINE_ROOT = Path(__file__).resolve().parents[1]
DEFAULT_OUTPUT = ENGINE_ROOT / "model" / "sample.vvm"

# Opset 17 and IR 8 load on every ONNX Runtime from 1.13 on.
OPSET = 17
IR_VERSION = 8

SAMPLE_RATE = 24000
HOP = 256
HARMONICS = 64
DETUNE = (1.0, 0.9965, 1.0035, 0.9936, 1.0064, 0.9985, 1.0015)  # a choir of one voice
CHOIR = len(DETUNE)
NOISE_ROWS = 16
NOISE_TAPS = 9
NOISE_WIDTH = HOP + NOISE_TAPS - 1
FORMANT_WIDTHS = (0.16, 0.22, 0.32)  # kHz

MODEL_ID = "ad4110b3-6b5a-406c-88b2-09ab2539ed00"
SPEAKERS = (
    ("サンプル一号", "45980e7f-f999-4ef9-9d7e-39de91f40bb0", ((0, "ノーマル"), (1, "あかるい"))),
    ("サンプル二号", "c799022f-13a5-4f57-be3c-3f39812d66c7", ((2, "ノーマル"), (3, "ささやき"))),
)

# One row a style: formant scale, tilt of the harmonics, breath, ratio of the pitch.
STYLES = (
    (1.10, 0.45, 0.02, 1.00),
    (1.22, 0.25, 0.01, 1.12),
    (0.88, 0.60, 0.03, 0.62),
    (0.92, 1.10, 0.45, 0.60),
)

# The phonemes in the order of their ids; the application reads this list from the model.
# One row a phoneme: three formants (kHz), their three levels, noise, colour of the noise.
PHONEMES: dict[str, tuple[float, ...]] = {
    "pau": (0.5, 1.5, 2.5, 0.0, 0.0, 0.0, 0.0, 0.5),
    "cl": (0.3, 1.2, 2.4, 0.0, 0.0, 0.0, 0.01, 0.5),
    "a": (0.80, 1.25, 2.60, 1.0, 0.70, 0.30, 0.01, 0.3),
    "i": (0.30, 2.30, 3.10, 1.0, 0.55, 0.40, 0.01, 0.6),
    "u": (0.35, 1.30, 2.40, 1.0, 0.45, 0.25, 0.01, 0.3),
    "e": (0.50, 1.90, 2.60, 1.0, 0.60, 0.35, 0.01, 0.5),
    "o": (0.50, 0.85, 2.50, 1.0, 0.75, 0.20, 0.01, 0.2),
    "N": (0.28, 1.00, 2.30, 0.8, 0.20, 0.15, 0.00, 0.2),
    "k": (0.40, 1.70, 2.50, 0.0, 0.02, 0.0, 0.35, 0.6),
    "ky": (0.35, 2.10, 2.90, 0.0, 0.02, 0.0, 0.35, 0.8),
    "g": (0.35, 1.60, 2.50, 0.5, 0.20, 0.05, 0.12, 0.5),
    "gy": (0.32, 2.00, 2.80, 0.5, 0.20, 0.05, 0.12, 0.7),
    "s": (0.40, 1.80, 2.70, 0.0, 0.0, 0.0, 0.55, 1.0),
    "sh": (0.38, 2.00, 2.80, 0.0, 0.0, 0.0, 0.60, 0.7),
    "z": (0.35, 1.70, 2.60, 0.4, 0.15, 0.05, 0.35, 1.0),
    "j": (0.33, 2.00, 2.80, 0.4, 0.15, 0.05, 0.38, 0.7),
    "t": (0.40, 1.80, 2.60, 0.0, 0.0, 0.0, 0.45, 0.9),
    "ty": (0.36, 2.10, 2.80, 0.0, 0.0, 0.0, 0.42, 0.9),
    "ts": (0.40, 1.80, 2.70, 0.0, 0.0, 0.0, 0.55, 1.0),
    "ch": (0.37, 2.00, 2.80, 0.0, 0.0, 0.0, 0.55, 0.8),
    "d": (0.35, 1.80, 2.60, 0.5, 0.20, 0.05, 0.15, 0.8),
    "dy": (0.33, 2.10, 2.80, 0.5, 0.20, 0.05, 0.15, 0.8),
    "n": (0.30, 1.50, 2.50, 0.7, 0.20, 0.10, 0.01, 0.2),
    "ny": (0.28, 2.00, 2.80, 0.7, 0.20, 0.10, 0.01, 0.3),
    "h": (0.60, 1.40, 2.60, 0.02, 0.02, 0.0, 0.40, 0.4),
    "hy": (0.35, 2.10, 3.00, 0.02, 0.02, 0.0, 0.45, 0.7),
    "f": (0.40, 1.20, 2.40, 0.0, 0.0, 0.0, 0.30, 0.5),
    "b": (0.32, 0.95, 2.30, 0.5, 0.15, 0.05, 0.06, 0.2),
    "by": (0.30, 1.90, 2.70, 0.5, 0.15, 0.05, 0.06, 0.4),
    "p": (0.40, 1.00, 2.40, 0.0, 0.0, 0.0, 0.30, 0.2),
    "py": (0.35, 1.90, 2.70, 0.0, 0.0, 0.0, 0.30, 0.4),
    "m": (0.28, 1.05, 2.30, 0.7, 0.20, 0.08, 0.00, 0.1),
    "my": (0.27, 1.90, 2.70, 0.7, 0.20, 0.08, 0.00, 0.2),
    "y": (0.30, 2.20, 3.00, 0.8, 0.40, 0.25, 0.01, 0.4),
    "r": (0.38, 1.40, 2.40, 0.6, 0.30, 0.15, 0.03, 0.4),
    "ry": (0.33, 2.00, 2.80, 0.6, 0.30, 0.15, 0.03, 0.5),
    "w": (0.35, 0.80, 2.30, 0.8, 0.40, 0.10, 0.01, 0.2),
    "v": (0.33, 1.10, 2.40, 0.5, 0.20, 0.10, 0.15, 0.4),
}

N_PHONEMES = len(PHONEMES)


class Graph:
    """Nodes and weights in the making; every value gets the next free name."""

    def __init__(self, prefix: str) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self._prefix = prefix

    def add(self, op: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Append a node with one output and give that output's name."""
        output = name or f"{self._prefix}{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], **attributes))
        return output

    def floats(self, values: Sequence[float], *shape: int) -> str:
        """Append a constant of float32 and give its name; without a shape, one number."""
        return self._weight(TensorProto.FLOAT, values, shape or (1,))

    def ints(self, *values: int) -> str:
        """Append a constant vector of int64 and give its name."""
        return self._weight(TensorProto.INT64, values, (len(values),))

    def _weight(self, kind: int, values: Sequence[float], shape: Sequence[int]) -> str:
        name = f"{self._prefix}w_{len(self.weights)}"
        self.weights.append(helper.make_tensor(name, kind, shape, values))
        return name


class Voice:
    """What both the first frame and the body of the Loop read: weights, and the style."""

    def __init__(self, graph: Graph) -> None:
        orders = [float(k) for k in range(1, HARMONICS + 1)]
        self.orders = graph.floats(orders, 1, HARMONICS)
        self.phonemes = graph.floats([x for row in PHONEMES.values() for x in row], N_PHONEMES, 8)
        self.widths = graph.floats(FORMANT_WIDTHS, 3, 1)
        self.formants_at = graph.ints(0, 1, 2)
        self.levels_at = graph.ints(3, 4, 5)
        self.at = {index: graph.ints(index) for index in (0, 1, 2, 3, 6, 7)}
        self.kilo, self.one, self.tiny = (graph.floats([x]) for x in (0.001, 1.0, 0.05))
        self.ceiling, self.steep = graph.floats([10.8]), graph.floats([12.0])
        self.column, self.flat = graph.ints(3, 1), graph.ints(-1)
        style = graph.add("Gather", graph.floats([x for row in STYLES for x in row], 4, 4), "style")
        self.scale, tilt, self.breath, self.ratio = (
            graph.add("Gather", style, self.at[index], axis=1) for index in range(4)
        )
        self.tilt = graph.add("Pow", self.orders, graph.add("Neg", tilt))

    def controls(self, graph: Graph, frame: str) -> tuple[str, str, str]:
        """Frequency (Hz) [1,1], levels of the harmonics [1,H] and of the noises [1,2]."""
        row = graph.add("Gather", self.phonemes, graph.add("Gather", "phoneme", frame))
        pitch = graph.add("Exp", graph.add("Gather", "pitch", frame))
        frequency = graph.add("Mul", pitch, self.ratio)
        gain = graph.add("Gather", "gain", frame)
        levels = graph.add("Gather", row, self.levels_at, axis=1)
        voiced = graph.add("Gather", levels, self.at[0], axis=1)
        noise, colour = (graph.add("Gather", row, self.at[index], axis=1) for index in (6, 7))

        # How far each harmonic is from each formant, and what such a resonance lets through.
        kilohertz = graph.add("Mul", self.orders, graph.add("Mul", frequency, self.kilo))
        formants = graph.add("Gather", row, self.formants_at, axis=1)
        formants = graph.add("Mul", graph.add("Reshape", formants, self.column), self.scale)
        distance = graph.add("Div", graph.add("Sub", kilohertz, formants), self.widths)
        squared = graph.add("Mul", distance, distance)
        resonance = graph.add("Reciprocal", graph.add("Add", squared, self.one))
        below = graph.add("Mul", graph.add("Sub", self.ceiling, kilohertz), self.steep)
        shape = graph.add("Mul", graph.add("MatMul", levels, resonance), self.tilt)
        shape = graph.add("Mul", shape, graph.add("Sigmoid", below))
        norm = graph.add("Add", graph.add("ReduceL2", shape, axes=[1], keepdims=1), self.tiny)
        loudness = graph.add("Div", graph.add("Mul", voiced, gain), norm)
        amplitudes = graph.add("Mul", shape, loudness)

        breath = graph.add("Add", noise, graph.add("Mul", voiced, self.breath))
        breath = graph.add("Mul", breath, gain)
        high = graph.add("Mul", breath, colour)
        hiss = graph.add("Concat", graph.add("Sub", breath, high), high, axis=1)
        return frequency, amplitudes, hiss


def _body(voice: Voice) -> GraphProto:
    """One frame: from the previous frame's controls and this one's to HOP samples."""
    graph = Graph("body_")
    orders = [float(k) for k in range(1, HARMONICS + 1)]
    ramp = [(n + 1) / HOP for n in range(HOP)]
    frame = graph.add("Reshape", graph.add("Add", "step", voice.at[1]), voice.flat)
    frequency, amplitudes, hiss = voice.controls(graph, frame)

    # The frequency slides from frame to frame; its integral is a quadratic ramp of phase.
    first = [(n - n * n / (2 * HOP)) / SAMPLE_RATE for n in range(1, HOP + 1)]
    second = [n * n / (2 * HOP) / SAMPLE_RATE for n in range(1, HOP + 1)]
    both = graph.add("Concat", "frequency_in", frequency, axis=1)
    cycles = graph.add("MatMul", both, graph.floats(first + second, 2, HOP))
    cycles = graph.add("Mul", cycles, graph.floats(DETUNE, CHOIR, 1, 1))
    cycles = graph.add("Add", cycles, "phase_in")
    end = graph.add("Gather", cycles, graph.ints(HOP - 1), axis=2)
    graph.add("Sub", end, graph.add("Floor", end), name="phase_out")

    turns = graph.floats([2 * math.pi * k for k in orders], 1, HARMONICS, 1)
    angles = graph.add("MatMul", turns, cycles)
    angles = graph.add("Add", angles, graph.floats(_offsets(), CHOIR, HARMONICS, 1))
    both = graph.add("Concat", "levels_in", amplitudes, axis=0)
    tones = graph.add("MatMul", both, graph.add("Sin", angles))
    tones = graph.add("ReduceSum", tones, voice.at[0], keepdims=0)
    tones = graph.add("Mul", tones, graph.floats([1 / math.sqrt(CHOIR)]))

    random_row = graph.add("Mod", frame, graph.ints(NOISE_ROWS))
    source = graph.add("Gather", graph.floats(_noise(), NOISE_ROWS, NOISE_WIDTH), random_row)
    source = graph.add("Reshape", source, graph.ints(1, 1, NOISE_WIDTH))
    kernels = graph.add("Concat", "hiss_in", hiss, axis=0)
    kernels = graph.add("MatMul", kernels, graph.floats(_filters(), 2, NOISE_TAPS))
    kernels = graph.add("Reshape", kernels, graph.ints(2, 1, NOISE_TAPS))
    noise = graph.add("Reshape", graph.add("Conv", source, kernels), graph.ints(2, HOP))

    fade = graph.floats([1 - x for x in ramp] + ramp, 2, HOP)
    faded = graph.add("Mul", graph.add("Add", tones, noise), fade)
    total = graph.add("ReduceSum", faded, graph.ints(0), keepdims=0)
    graph.add("Tanh", total, name="samples")
    graph.add("Identity", "go", name="go_out")
    graph.add("Identity", frequency, name="frequency_out")
    graph.add("Identity", amplitudes, name="levels_out")
    graph.add("Identity", hiss, name="hiss_out")

    carried = (
        ("phase", [CHOIR, 1, 1]),
        ("frequency", [1, 1]),
        ("levels", [1, HARMONICS]),
        ("hiss", [1, 2]),
    )
    return helper.make_graph(
        graph.nodes,
        "frame",
        [_value("step", [], TensorProto.INT64), _value("go", [], TensorProto.BOOL)]
        + [_value(f"{name}_in", shape) for name, shape in carried],
        [_value("go_out", [], TensorProto.BOOL)]
        + [_value(f"{name}_out", shape) for name, shape in carried]
        + [_value("samples", [HOP])],
        graph.weights,
    )


def make_graph() -> GraphProto:
    """The whole model: ``frames`` rows of controls in, ``(frames - 1) * HOP`` samples out."""
    graph = Graph("main_")
    voice = Voice(graph)
    frequency, amplitudes, hiss = voice.controls(graph, voice.at[0])
    steps = graph.add("Sub", graph.add("Shape", "phoneme"), voice.at[1])
    start = graph.add("Reshape", "phase", graph.ints(CHOIR, 1, 1))
    graph.nodes.append(
        helper.make_node(
            "Loop",
            [steps, "", start, frequency, amplitudes, hiss],
            ["last_phase", "last_frequency", "last_levels", "last_hiss", "rows"],
            body=_body(voice),
        )
    )
    graph.add("Reshape", "rows", voice.flat, name="wave")
    graph.add("Reshape", "last_phase", voice.flat, name="next_phase")
    return helper.make_graph(
        graph.nodes,
        "sample_voice",
        [
            _value("phoneme", ["frames"], TensorProto.INT64),
            _value("pitch", ["frames"]),
            _value("gain", ["frames"]),
            _value("style", [1], TensorProto.INT64),
            _value("phase", [CHOIR]),
        ],
        [_value("wave", ["samples"]), _value("next_phase", [CHOIR])],
        graph.weights,
    )


def _value(name: str, shape: Sequence[int | str], kind: int = TensorProto.FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _offsets() -> list[float]:
    """First phases: growing with the square of the order, which keeps the peaks of a sum low."""
    return [
        (math.pi * k * k / HARMONICS + 2 * math.pi * k * singer / CHOIR) % (2 * math.pi)
        for singer in range(CHOIR)
        for k in range(1, HARMONICS + 1)
    ]


def _noise() -> list[float]:
    source = random.Random(20240229)  # noqa: S311 - sound, not secrets
    return [source.uniform(-1.0, 1.0) for _ in range(NOISE_ROWS * NOISE_WIDTH)]


def _filters() -> list[float]:
    """Two FIR filters for the noise: a low one, and one that takes the low part away."""
    window = [math.sin(math.pi * (i + 1) / (NOISE_TAPS + 1)) ** 2 for i in range(NOISE_TAPS)]
    low = [w / sum(window) for w in window]
    high = [(1.0 if i == NOISE_TAPS // 2 else 0.0) - x for i, x in enumerate(low)]
    return low + high


def model_bytes() -> bytes:
    """The ONNX file."""
    model = helper.make_model(
        make_graph(),
        producer_name="vvbuild-sample",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    return bytes(model.SerializeToString(deterministic=True))


def _manifest() -> dict[str, object]:
    styles = [style for _, _, styles in SPEAKERS for style, _ in styles]
    return {
        "vvm_format_version": 1,
        "id": MODEL_ID,
        "metas_filename": "metas.json",
        "sample": {
            "model_filename": "model.onnx",
            "sampling_rate": SAMPLE_RATE,
            "samples_per_frame": HOP,
            "phonemes": list(PHONEMES),
            "style_id_to_inner_voice_id": {str(style): row for row, style in enumerate(styles)},
        },
    }


def _metas() -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "speaker_uuid": uuid,
            "styles": [{"name": style, "id": number, "type": "talk"} for number, style in styles],
            "version": "0.1.0",
            "order": order,
        }
        for order, (name, uuid, styles) in enumerate(SPEAKERS)
    ]


def write_voice(output: Path) -> None:
    """Write the voice model: stored, at a fixed time, so that equal content is equal bytes."""
    members = {
        "manifest.json": _json(_manifest()),
        "metas.json": _json(_metas()),
        "model.onnx": model_bytes(),
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(output, "w") as archive:
        for name, data in members.items():
            member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            member.create_system = 3
            member.external_attr = 0o644 << 16
            archive.writestr(member, data)


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


if __name__ == "__main__":
    write_voice(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_OUTPUT)
