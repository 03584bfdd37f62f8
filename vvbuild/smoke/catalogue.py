"""Checks of what the engine tells about itself and its speakers."""

from __future__ import annotations

import base64
import binascii

from vvbuild.smoke.answers import Manifest, Speaker, SpeakerInfo
from vvbuild.smoke.checks import CheckFailedError, Passed
from vvbuild.smoke.http import Client
from vvbuild.smoke.subject import Subject


def check_version(client: Client, subject: Subject) -> Passed[str]:
    """``/version`` is the manifest's: both are set when an engine is built, in two places."""
    version = client.get("/version").decode(str)
    if version != subject.version:
        raise CheckFailedError(f"it says {version}, engine_manifest.json says {subject.version}")
    return Passed(version, version)


def check_manifest(client: Client, subject: Subject) -> Passed[Manifest]:
    """``/engine_manifest`` has every field, and is of the engine that was started."""
    manifest = client.get("/engine_manifest").decode(Manifest)
    if (manifest.name, manifest.uuid) != (subject.name, subject.uuid):
        raise CheckFailedError(
            f"it is of {manifest.name} {manifest.uuid}, not of {subject.name} {subject.uuid}"
        )
    _check_picture(manifest.icon, "the icon")
    return Passed(f"{manifest.name}, {len(manifest.supported_features)} features", manifest)


def check_speakers(client: Client) -> Passed[list[Speaker]]:
    """There is a speaker, and a style that talks."""
    speakers = client.get("/speakers").decode(list[Speaker])
    if not speakers:
        raise CheckFailedError("there is no speaker")
    mute = [speaker.name for speaker in speakers if not speaker.styles]
    if mute:
        raise CheckFailedError(f"without any style: {', '.join(mute)}")
    if talking_style(speakers) is None:
        raise CheckFailedError("no style is for talking")
    styles = sum(len(speaker.styles) for speaker in speakers)
    return Passed(f"{len(speakers)} speakers, {styles} styles", speakers)


def talking_style(speakers: list[Speaker]) -> int | None:
    """The first style that talks; others sing."""
    styles = (style for speaker in speakers for style in speaker.styles)
    return next((style.id for style in styles if style.type == "talk"), None)


def check_speaker_info(client: Client, speakers: list[Speaker]) -> Passed[None]:
    """Terms and pictures of *every* speaker are there: one missing file breaks the editor."""
    for speaker in speakers:
        _check_info(client, speaker)
    return Passed(f"terms and pictures of {len(speakers)} speakers", None)


def _check_info(client: Client, speaker: Speaker) -> None:
    params = {"speaker_uuid": speaker.speaker_uuid}
    try:
        info = client.get("/speaker_info", params).decode(SpeakerInfo)
        _check_picture(info.portrait, "the portrait")
        for style in info.style_infos:
            _check_picture(style.icon, f"the icon of style {style.id}")
        if not info.style_infos:
            raise CheckFailedError("no style has pictures")
    except CheckFailedError as error:
        raise CheckFailedError(f"{speaker.name}: {error}") from error


def _check_picture(text: str, what: str) -> None:
    try:
        if base64.b64decode(text, validate=True):
            return
    except binascii.Error:
        pass
    raise CheckFailedError(f"{what} is not a file in base64")
