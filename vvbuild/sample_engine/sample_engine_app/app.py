"""The HTTP interface."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse

from vvbuild.ort import OrtError

from .catalogue import Catalogue
from .errors import AbandonedError, QueryError, StoppingError
from .kana import accent_phrases, to_notation
from .schema import (
    AudioQuery,
    EngineManifest,
    Speaker,
    SpeakerInfo,
    SupportedDevices,
)
from .synthesizer import Synthesizer
from .workers import Task, Workers

MAX_TEXT = 20_000
CLIENT_CLOSED_REQUEST = 499

StyleId = Annotated[int, Query(alias="speaker")]


class Wav(Response):
    """A sound."""

    media_type = "audio/wav"


def create_app(
    catalogue: Catalogue,
    synthesizer: Synthesizer,
    workers: Workers,
    devices: SupportedDevices,
) -> FastAPI:
    """Put the routes over the engine's parts."""
    app = FastAPI(title=catalogue.manifest.name, version=catalogue.version)
    _answer_errors(app)
    _add_catalogue(app, catalogue, devices)
    _add_synthesis(app, synthesizer, workers)
    return app


def _add_catalogue(app: FastAPI, catalogue: Catalogue, devices: SupportedDevices) -> None:
    @app.get("/version")
    async def version() -> str:
        return catalogue.version

    @app.get("/engine_manifest")
    async def engine_manifest() -> EngineManifest:
        return catalogue.manifest

    @app.get("/speakers")
    async def speakers() -> list[Speaker]:
        return catalogue.speakers

    @app.get("/speaker_info")
    async def speaker_info(speaker_uuid: str) -> SpeakerInfo:
        info = catalogue.info(speaker_uuid)
        if info is None:
            raise HTTPException(404, f"there is no speaker {speaker_uuid}")
        return info

    @app.get("/supported_devices")
    async def supported_devices() -> SupportedDevices:
        return devices


def _add_synthesis(app: FastAPI, synthesizer: Synthesizer, workers: Workers) -> None:
    @app.post("/audio_query")
    def audio_query(
        text: Annotated[str, Query(max_length=MAX_TEXT)], style_id: StyleId
    ) -> AudioQuery:
        synthesizer.check_style(style_id)
        phrases = accent_phrases(text)
        return AudioQuery(
            accent_phrases=phrases,
            speedScale=1.0,
            pitchScale=0.0,
            intonationScale=1.0,
            volumeScale=1.0,
            prePhonemeLength=0.1,
            postPhonemeLength=0.1,
            outputSamplingRate=synthesizer.sampling_rate(style_id),
            outputStereo=False,
            kana=to_notation(phrases),
        )

    def task(query: AudioQuery, style_id: int, upspeak: bool) -> Task:
        synthesizer.check_style(style_id)
        return lambda options: synthesizer.synthesize(query, style_id, options, upspeak=upspeak)

    @app.post("/synthesis", response_class=Wav)
    async def synthesis(
        query: AudioQuery, style_id: StyleId, enable_interrogative_upspeak: bool = True
    ) -> Wav:
        return Wav(await workers.run(task(query, style_id, enable_interrogative_upspeak)))

    @app.post("/cancellable_synthesis", response_class=Wav)
    async def cancellable_synthesis(
        query: AudioQuery,
        style_id: StyleId,
        request: Request,
        enable_interrogative_upspeak: bool = True,
    ) -> Wav:
        todo = task(query, style_id, enable_interrogative_upspeak)
        return Wav(await workers.run(todo, lambda: _disconnected(request)))


async def _disconnected(request: Request) -> None:
    """Return when the client is gone. The server wakes us; nothing is polled."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _answer_errors(app: FastAPI) -> None:
    def answer(error: type[Exception], status: int, text: str = "") -> None:
        async def handler(_: Request, raised: Exception) -> JSONResponse:
            return JSONResponse({"detail": text or str(raised)}, status)

        app.add_exception_handler(error, handler)

    answer(QueryError, 422)
    answer(OrtError, 500)
    answer(StoppingError, 503, "the engine is about to end")
    answer(AbandonedError, CLIENT_CLOSED_REQUEST, "the client is gone")
