"""What went wrong with a request, in words, and whether it may go better later."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from vvbuild.errors import NetworkError, NotFoundOnServerError
from vvbuild.fetch.attempts import AttemptError
from vvbuild.fetch.urls import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from vvbuild.fetch.pace import Timeouts
    from vvbuild.fetch.trust import Trust

# Request Timeout, Too Early, Too Many Requests: the same request may succeed later.
_LATER = (408, 425, 429)
_GONE = (404, 410)


def refuse_status(response: httpx.Response) -> None:
    """Return if the answer is 200; raise ``AttemptError`` with the right verdict otherwise."""
    status = response.status_code
    if status == HTTPStatus.OK:
        return
    try:
        phrase = f" {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = ""
    gone = status in _GONE
    raise AttemptError(
        f"answered {status}{phrase}",
        error=NotFoundOnServerError if gone else NetworkError,
        retry=status in _LATER or status >= 500,
        wait=retry_after(response.headers.get("retry-after")) if status in (429, 503) else None,
        hint=_STATUS_HINTS.get(status),
    )


_STATUS_HINTS = {
    401: "The server wants credentials: put user:password@ into the configured index's URL.",
    403: "The server refuses this machine or these credentials; asking again does not help.",
    407: "The proxy wants credentials: put user:password@ into HTTPS_PROXY.",
}


def retry_after(value: str | None) -> float | None:
    """Seconds that a ``Retry-After`` header asks for, as a number or as a date."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def explain(error: Exception, timeouts: Timeouts, trust: Trust) -> AttemptError:
    """Name an exception of httpx by what the user can do about it."""
    import socket
    import ssl

    import httpx

    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return AttemptError(
                f"its certificate is not trusted: {cause.verify_message}",
                hint=f"Authorities came from {trust.origin}. If your company has one of its own, "
                "add it to the system's store, or name a file that holds it in SSL_CERT_FILE.",
            )
        if isinstance(cause, socket.gaierror):
            return AttemptError(f"its name could not be looked up: {cause.strerror}", retry=True)
    if isinstance(error, httpx.ConnectTimeout):
        return AttemptError(f"no connection within {timeouts.connect:g} s", retry=True)
    if isinstance(error, httpx.TimeoutException):
        return AttemptError(f"stalled: nothing came for {timeouts.idle:g} s", retry=True)
    words = redact(str(error)) or type(error).__name__
    if isinstance(error, (httpx.UnsupportedProtocol, httpx.InvalidURL)):
        return AttemptError(f"not an address that can be asked: {words}")
    if isinstance(error, httpx.ConnectError):
        return AttemptError(f"no connection: {words}", retry=True)
    if isinstance(error, httpx.ProxyError):
        return AttemptError(f"the proxy refused: {words}", retry=True)
    return AttemptError(f"the connection was lost: {words}", retry=True)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
