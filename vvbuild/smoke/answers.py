"""What the engine's answers must hold: the fields that the editor relies on.

After ``voicevox_engine/engine_manifest.py``, ``metas/Metas.py`` and ``tts_pipeline/model.py``
of VOICEVOX ENGINE 0.25. Fields that are not named here are let through.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Manifest(msgspec.Struct):
    """``GET /engine_manifest``."""

    manifest_version: str
    name: str
    brand_name: str
    uuid: str
    url: str
    icon: str
    default_sampling_rate: int
    frame_rate: float
    terms_of_service: str
    update_infos: list[object]
    dependency_licenses: list[object]
    supported_features: dict[str, object]


class Style(msgspec.Struct):
    """A way in which a speaker speaks; ``type`` came with engine 0.16."""

    name: str
    id: int
    type: str = "talk"


class Speaker(msgspec.Struct):
    """An element of ``GET /speakers``."""

    name: str
    speaker_uuid: str
    styles: list[Style]
    version: str


class StyleInfo(msgspec.Struct):
    """Pictures of a style."""

    id: int
    icon: str


class SpeakerInfo(msgspec.Struct):
    """``GET /speaker_info``."""

    policy: str
    portrait: str
    style_infos: list[StyleInfo]


class Mora(msgspec.Struct):
    """One beat; lengths in seconds."""

    vowel_length: float
    consonant_length: float | None = None


class Phrase(msgspec.Struct):
    """Moras, and the pause after them."""

    moras: list[Mora]
    pause_mora: Mora | None = None


class Query(msgspec.Struct, rename="camel"):
    """The parts of ``POST /audio_query`` that say what the sound will be."""

    speed_scale: float
    pre_phoneme_length: float
    post_phoneme_length: float
    output_sampling_rate: int
    accent_phrases: list[Phrase] = msgspec.field(name="accent_phrases")

    def moras(self) -> int:
        """How many beats are spoken."""
        return sum(len(phrase.moras) for phrase in self.accent_phrases)

    def seconds(self) -> float:
        """How long the sound will be."""
        spoken = sum(_length(phrase) for phrase in self.accent_phrases)
        return (self.pre_phoneme_length + spoken + self.post_phoneme_length) / self.speed_scale


def _length(phrase: Phrase) -> float:
    moras: Sequence[Mora] = [*phrase.moras, *([phrase.pause_mora] if phrase.pause_mora else [])]
    return sum(mora.vowel_length + (mora.consonant_length or 0.0) for mora in moras)
