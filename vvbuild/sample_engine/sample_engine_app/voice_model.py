"""Voice models: ``*.vvm``, a zip with a manifest, the speakers, and an ONNX file."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from .errors import StartError
from .schema import Speaker


@dataclass(frozen=True)
class VoiceModel:
    """One file of voices. ``styles`` maps a style's id to its row in the model."""

    path: Path
    onnx: bytes
    sampling_rate: int
    samples_per_frame: int
    phonemes: dict[str, int]
    styles: dict[int, int]
    speakers: list[Speaker]


def load_models(directories: tuple[Path, ...]) -> list[VoiceModel]:
    """Every ``model/*.vvm`` of the directories. Raises :class:`StartError` if there is none."""
    paths = [path for where in directories for path in sorted((where / "model").glob("*.vvm"))]
    if not paths:
        looked = ", ".join(str(where / "model") for where in directories)
        raise StartError(f"There is no voice model (*.vvm) in {looked}.")
    return [_load(path) for path in paths]


def _load(path: Path) -> VoiceModel:
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            metas = json.loads(archive.read(manifest["metas_filename"]))
            sample = manifest["sample"]
            return VoiceModel(
                path=path,
                onnx=archive.read(sample["model_filename"]),
                sampling_rate=int(sample["sampling_rate"]),
                samples_per_frame=int(sample["samples_per_frame"]),
                phonemes={name: number for number, name in enumerate(sample["phonemes"])},
                styles={int(k): int(v) for k, v in sample["style_id_to_inner_voice_id"].items()},
                speakers=[Speaker.model_validate(meta) for meta in metas],
            )
    except (OSError, zipfile.BadZipFile, KeyError, TypeError, ValueError, ValidationError) as error:
        raise StartError(f"{path} is not a voice model of this engine: {error}") from error
