"""The HTTP server, and how it ends its work."""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from .workers import Workers

# The longest text, percent-encoded, is part of a request's first line.
MAX_HEADER_BYTES = 1 << 18
GRACE_SECONDS = 1


class Server(uvicorn.Server):
    """uvicorn, which calls off the work under way before it waits for it."""

    def __init__(self, config: uvicorn.Config, workers: Workers) -> None:
        super().__init__(config)
        self._workers = workers

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the computations, then the connections."""
        self._workers.stop()
        await super().shutdown(sockets)


def serve(app: FastAPI, workers: Workers, host: str, port: int) -> None:
    """Answer requests until a signal comes."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=H11Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    asyncio.run(Server(config, workers).serve())
