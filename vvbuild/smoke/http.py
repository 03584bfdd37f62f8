"""Talking to an engine on this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

from vvbuild.smoke.checks import CheckFailedError

T = TypeVar("T")

# An hour of 48 kHz stereo is 690 MB; what this program asks for is minutes.
_MAX_ANSWER = 512 << 20
_SHOWN = 200


class TookTooLongError(CheckFailedError):
    """No whole answer in time; the connection is closed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. ``seconds`` runs from the request to the last byte."""

    what: str
    status: int
    body: bytes
    seconds: float

    def decode(self, kind: type[T]) -> T:
        """Read the JSON of a successful answer as ``kind``; raises :class:`CheckFailedError`."""
        import msgspec

        self.expect_success()
        try:
            return msgspec.json.decode(self.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CheckFailedError(f"{self.what}: {error}") from error

    def expect_success(self) -> Answer:
        """This answer if its status is 200; raises :class:`CheckFailedError` otherwise."""
        if self.status != 200:
            text = self.body[:_SHOWN].decode("utf-8", "replace").strip()
            raise CheckFailedError(f"{self.what} answers with {self.status}: {text}")
        return self


class Client:
    """Sends requests to 127.0.0.1; may be used by several threads at once."""

    def __init__(self, port: int, timeout: float) -> None:
        import ssl

        import httpx

        self._http = httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            # Nothing here is encrypted; reading the authorities' certificates takes 60 ms.
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            # The environment's proxies are for other machines.
            trust_env=False,
            # A connection for each request: one that the engine has just closed is no fault.
            limits=httpx.Limits(max_keepalive_connections=0),
        )
        self._timeout = timeout

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def get(
        self, path: str, params: Mapping[str, str | int] | None = None, timeout: float | None = None
    ) -> Answer:
        """``GET``; raises :class:`CheckFailedError` if there is no answer at all."""
        return self._send("GET", path, params or {}, None, timeout)

    def post(
        self,
        path: str,
        params: Mapping[str, str | int],
        json: bytes | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """``POST`` with a JSON document, if any; raises like :meth:`get`.

        When ``timeout`` (seconds) has passed, the connection is closed: to the engine that is
        a client who left.
        """
        return self._send("POST", path, params, json, timeout)

    def _send(
        self,
        method: str,
        path: str,
        params: Mapping[str, str | int],
        json: bytes | None,
        timeout: float | None,
    ) -> Answer:
        import httpx

        what = f"{method} {path}"
        limit = self._timeout if timeout is None else timeout
        headers = {"content-type": "application/json"} if json is not None else {}
        started = time.perf_counter()
        late = TookTooLongError(f"{what}: no whole answer within {limit:.1f} s")
        body = bytearray()
        try:
            with self._http.stream(
                method, path, params=params, content=json, headers=headers, timeout=limit
            ) as response:
                for piece in response.iter_bytes():
                    body += piece
                    # httpx limits the wait for each piece, not for all of them.
                    if time.perf_counter() - started > limit:
                        raise late
                    if len(body) > _MAX_ANSWER:
                        raise CheckFailedError(f"{what}: the answer does not end")
        except httpx.TimeoutException:
            raise late from None
        except httpx.HTTPError as error:
            raise CheckFailedError(f"{what}: {error}") from error
        return Answer(what, response.status_code, bytes(body), time.perf_counter() - started)
