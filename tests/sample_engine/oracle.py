"""Run as a program: the sound of a query, from ONNX Runtime's own Python package.

    python oracle.py ENGINE_ROOT STYLE < query.json > samples (16 bits)

Frames are laid out by the engine's own code; the inference is one run over all of them.
"""

import io
import json
import sys
import zipfile


def main(root, style):
    sys.path.insert(0, root)
    import numpy as np
    import onnxruntime
    from sample_engine_app.frames import make_frames
    from sample_engine_app.schema import AudioQuery

    with zipfile.ZipFile(f"{root}/model/sample.vvm") as archive:
        sample = json.loads(archive.read("manifest.json"))["sample"]
        session = onnxruntime.InferenceSession(archive.read(sample["model_filename"]))
    phonemes = {name: number for number, name in enumerate(sample["phonemes"])}
    rate = sample["sampling_rate"] / sample["samples_per_frame"]
    query = AudioQuery.model_validate_json(sys.stdin.buffer.read())
    frames = make_frames(query, phonemes, rate, upspeak=True, check=lambda: None)
    row = sample["style_id_to_inner_voice_id"][style]
    (wave,) = session.run(
        ["wave"],
        {
            "phoneme": np.array(frames.phoneme, dtype="int64"),
            "pitch": np.array(frames.pitch, dtype="float32"),
            "gain": np.array(frames.gain, dtype="float32"),
            "style": np.array([row], dtype="int64"),
            "phase": np.zeros(session.get_inputs()[4].shape, dtype="float32"),
        },
    )
    assert isinstance(sys.stdout, io.TextIOWrapper)
    sys.stdout.buffer.write((wave.astype("float64") * 32767).astype("<i2").tobytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
