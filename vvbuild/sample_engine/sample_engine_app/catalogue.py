"""What the engine tells about itself and its speakers, read once from its files."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .errors import StartError
from .schema import (
    EngineManifest,
    Speaker,
    SpeakerFeatures,
    SpeakerInfo,
    StyleInfo,
)


class Catalogue:
    """The manifest and the characters. Raises :class:`StartError` for what is missing or wrong."""

    def __init__(self, root: Path, speakers: list[Speaker]) -> None:
        self._root = root
        try:
            raw = json.loads(self._text("engine_manifest.json"))
            self.version = str(raw["version"])
            self.port = int(raw["port"])
            self.manifest = self._manifest(raw)
            self.speakers = [self._speaker(speaker) for speaker in speakers]
            self._infos = {speaker.speaker_uuid: self._info(speaker) for speaker in speakers}
        except OSError as error:
            raise StartError(f"The engine lacks a file: {error}") from error
        except (KeyError, TypeError, ValueError, ValidationError) as error:
            raise StartError(f"The engine's own files are wrong: {error!r}") from error

    def info(self, speaker_uuid: str) -> SpeakerInfo | None:
        """Terms and pictures of a speaker, if there is such a one."""
        return self._infos.get(speaker_uuid)

    def _manifest(self, raw: dict[str, Any]) -> EngineManifest:
        features = {name: bool(f["value"]) for name, f in raw["supported_features"].items()}
        content = {
            "icon": self._picture(raw["icon"]),
            "terms_of_service": self._text(raw["terms_of_service"]),
            "update_infos": json.loads(self._text(raw["update_infos"])),
            "dependency_licenses": json.loads(self._text(raw["dependency_licenses"])),
            "supported_features": features,
        }
        return EngineManifest.model_validate({**raw, **content})

    def _speaker(self, speaker: Speaker) -> Speaker:
        metas = json.loads(self._text(f"{_directory(speaker)}/metas.json"))
        features = SpeakerFeatures.model_validate(metas["supported_features"])
        return speaker.model_copy(update={"supported_features": features})

    def _info(self, speaker: Speaker) -> SpeakerInfo:
        directory = _directory(speaker)
        styles = [
            StyleInfo(
                id=style.id,
                icon=self._picture(f"{directory}/icons/{style.id}.png"),
                voice_samples=[],
            )
            for style in speaker.styles
        ]
        return SpeakerInfo(
            policy=self._text(f"{directory}/policy.md"),
            portrait=self._picture(f"{directory}/portrait.png"),
            style_infos=styles,
        )

    def _text(self, path: str) -> str:
        return (self._root / path).read_text(encoding="utf-8")

    def _picture(self, path: str) -> str:
        return base64.b64encode((self._root / path).read_bytes()).decode("ascii")


def _directory(speaker: Speaker) -> str:
    return f"resources/character_info/{speaker.speaker_uuid}"
