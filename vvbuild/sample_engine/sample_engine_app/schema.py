"""The JSON that goes in and out, with VOICEVOX ENGINE's names."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Finite = Annotated[float, Field(allow_inf_nan=False)]
Length = Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)]
Scale = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


class Mora(BaseModel):
    """One beat: lengths in seconds, pitch as the logarithm of a frequency in Hz (0: none)."""

    model_config = ConfigDict(extra="ignore")

    text: str
    consonant: str | None = None
    consonant_length: Length | None = None
    vowel: str
    vowel_length: Length
    pitch: Annotated[float, Field(ge=0, le=9, allow_inf_nan=False)]


class AccentPhrase(BaseModel):
    """Moras with one accent, and the pause after them."""

    moras: list[Mora]
    accent: int
    pause_mora: Mora | None = None
    is_interrogative: bool = False


class AudioQuery(BaseModel):
    """Everything that a sound is made from."""

    accent_phrases: list[AccentPhrase]
    speedScale: Annotated[float, Field(ge=0.01, le=100, allow_inf_nan=False)]  # noqa: N815
    pitchScale: Annotated[float, Field(ge=-3, le=3, allow_inf_nan=False)]  # noqa: N815
    intonationScale: Scale  # noqa: N815
    volumeScale: Scale  # noqa: N815
    prePhonemeLength: Length  # noqa: N815
    postPhonemeLength: Length  # noqa: N815
    pauseLength: Length | None = None  # noqa: N815
    pauseLengthScale: Scale = 1  # noqa: N815
    outputSamplingRate: Annotated[int, Field(ge=4000, le=192000)]  # noqa: N815
    outputStereo: bool  # noqa: N815
    kana: str | None = None


class SpeakerStyle(BaseModel):
    """A way in which a speaker speaks."""

    name: str
    id: int
    type: str = "talk"


class SpeakerFeatures(BaseModel):
    """What may be done with a speaker's voice."""

    permitted_synthesis_morphing: str = "NOTHING"


class Speaker(BaseModel):
    """One voice."""

    name: str
    speaker_uuid: str
    styles: list[SpeakerStyle]
    version: str
    supported_features: SpeakerFeatures = SpeakerFeatures()


class StyleInfo(BaseModel):
    """Pictures and samples of a style, in base64."""

    id: int
    icon: str
    portrait: str | None = None
    voice_samples: list[str]


class SpeakerInfo(BaseModel):
    """Terms and pictures of a speaker, in base64."""

    policy: str
    portrait: str
    style_infos: list[StyleInfo]


class UpdateInfo(BaseModel):
    """What a version brought."""

    version: str
    descriptions: list[str]
    contributors: list[str] = []


class LicenseInfo(BaseModel):
    """The licence of something inside."""

    name: str
    version: str | None = None
    license: str | None = None
    text: str


class EngineManifest(BaseModel):
    """The engine about itself; files are given by their content."""

    manifest_version: str
    name: str
    brand_name: str
    uuid: str
    url: str
    icon: str
    default_sampling_rate: int
    frame_rate: float
    terms_of_service: str
    update_infos: list[UpdateInfo]
    dependency_licenses: list[LicenseInfo]
    supported_features: dict[str, bool]


class SupportedDevices(BaseModel):
    """What ONNX Runtime was built for."""

    cpu: bool
    cuda: bool
    dml: bool
