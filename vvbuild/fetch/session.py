"""One HTTP client for everything, with what we demand of every request."""

from __future__ import annotations

import base64
import socket
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from vvbuild import __version__
from vvbuild.errors import BadReferenceError, OfflineError, UsageError
from vvbuild.fetch.attempts import AttemptError, Patience
from vvbuild.fetch.background import interruptible
from vvbuild.fetch.failures import explain, refuse_status
from vvbuild.fetch.indexes import Indexes
from vvbuild.fetch.lanes import PiecePolicy
from vvbuild.fetch.pace import Pace, Timeouts
from vvbuild.fetch.trust import Trust, choose_trust
from vvbuild.fetch.urls import Origin, redact, split_credentials
from vvbuild.runtime.cancel import Cancel

if TYPE_CHECKING:
    from typing import TypeAlias

    import httpx

    # Raises AttemptError for an answer, with its body, that it knows better than anybody.
    Refuse: TypeAlias = Callable[[httpx.Response, bytes], None]

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10
_PAGE_LIMIT = 64 << 20
_HEADERS = {
    "User-Agent": f"vvbuild/{__version__}",
    "Accept": "*/*",
    # A body must be what was hashed, not a coding of it.
    "Accept-Encoding": "identity",
}


@dataclass(frozen=True, slots=True)
class Page:
    """A document of an index: where it came from after redirects, its type and its bytes.

    ``next`` is the address of the document that continues it (RFC 8288).
    """

    url: str
    content_type: str
    body: bytes
    next: str | None = None


class Session:
    """Requests to servers. Shared by threads; nothing is opened before the first request.

    ``allow_local`` permits ``file:`` and plain HTTP on loopback; an index that the user has
    configured on loopback is permitted as it is. ``offline`` refuses before a socket opens.
    ``cancel`` ends every request that has no flag of its own.
    """

    def __init__(
        self,
        *,
        allow_local: bool = False,
        offline: bool = False,
        cancel: Cancel | None = None,
        indexes: Indexes | None = None,
        timeouts: Timeouts | None = None,
        patience: Patience | None = None,
        pieces: PiecePolicy | None = None,
    ) -> None:
        self.allow_local = allow_local
        self.offline = offline
        self.cancel = Cancel() if cancel is None else cancel
        self.timeouts = timeouts or Timeouts()
        self.patience = patience or Patience()
        self.pieces = pieces or PiecePolicy()
        self._indexes = indexes
        self._lock = threading.Lock()
        self._opened: dict[bool, httpx.Client] = {}
        self._pages: dict[str, Page] = {}
        self._turns: dict[str, threading.Lock] = {}

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; the session can be used again."""
        with self._lock:
            clients, self._opened = list(self._opened.values()), {}
        for client in clients:
            client.close()

    @cached_property
    def indexes(self) -> Indexes:
        """The configured indexes, read at the first use."""
        return self._indexes or Indexes.configured()

    @cached_property
    def trust(self) -> Trust:
        """The certificate authorities, read at the first use."""
        return choose_trust()

    @contextmanager
    def open(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        cancel: Cancel | None = None,
        *,
        alone: bool = False,
        stay: bool = False,
    ) -> Iterator[httpx.Response]:
        """Send a GET request, follow redirects, and yield the response before its body is read.

        ``alone`` gives the answer a connection of its own (HTTP/1.1): streams of HTTP/2 share
        one, and with it the speed that a server grants to each. ``stay`` saves the thread that
        lets the caller leave while a server is silent, for callers that may be left behind
        themselves. Raises ``AttemptError`` for all that can happen to a connection, also while
        the caller reads the body; :class:`OfflineError`; and, within moments of the flag,
        :class:`CancelledError`.
        """
        import httpx

        cancel = self.cancel if cancel is None else cancel
        if self.offline:
            raise OfflineError(
                f"{redact(url)} would have to be asked, and --offline forbids it.",
                hint="Run once without --offline, or import a mirror.",
            )
        try:
            if stay:
                response = self._follow(url, headers or {}, alone)
            else:
                response = interruptible(
                    lambda: self._follow(url, headers or {}, alone), cancel, httpx.Response.close
                )
            forget = cancel.add(lambda: _wake(response))
            try:
                yield response
            finally:
                forget()
                response.close()
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            cancel.check()
            raise explain(error, self.timeouts, self.trust) from error

    def page(
        self,
        url: str,
        accept: str,
        cancel: Cancel | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        refuse: Refuse | None = None,
    ) -> Page:
        """A whole document of an index, remembered for the life of the session.

        Threads that want the same one ask once. One try: raises ``AttemptError`` where that
        fails or the document is absurdly large. ``refuse`` is told of an answer that is none,
        with its body, before the general verdict on its status.
        """
        with self._lock:
            turn = self._turns.setdefault(url, threading.Lock())
        with turn:
            page = self._pages.get(url)
            if page is None:
                (self.cancel if cancel is None else cancel).check()
                asked = {"Accept": accept, "Accept-Encoding": "gzip", **(headers or {})}
                with self.open(url, asked, cancel) as response:
                    page = self._page(response, refuse)
                self._pages[url] = page
        return page

    def _page(self, response: httpx.Response, refuse: Refuse | None) -> Page:
        if refuse is not None and response.status_code != 200:
            refuse(response, self._read_page(response))
        refuse_status(response)
        return Page(
            url=str(response.url),
            content_type=response.headers.get("content-type", ""),
            body=self._read_page(response),
            next=response.links.get("next", {}).get("url"),
        )

    def pace(self, deadline: float) -> Pace:
        """A watch on a body that is being read."""
        return Pace(self.timeouts, deadline, self.patience.clock)

    def _read_page(self, response: httpx.Response) -> bytes:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip"):
            raise AttemptError(f"sent a document encoded as {encoding!r}, which was not asked for")
        inflate = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding == "gzip" else None
        body, pace = bytearray(), self.pace(self.patience.clock() + self.timeouts.page)
        for chunk in response.iter_raw():
            pace.tick(len(chunk))
            room = _PAGE_LIMIT + 1 - len(body)
            try:
                body += inflate.decompress(chunk, room) if inflate else chunk[:room]
            except zlib.error:
                raise AttemptError("sent a document that cannot be decoded", retry=True) from None
            if len(body) > _PAGE_LIMIT:
                raise AttemptError(f"sent a document of more than {_PAGE_LIMIT >> 20} MiB")
        if inflate and not inflate.eof:
            raise AttemptError("sent a document that ends early", retry=True)
        return bytes(body)

    def _follow(self, url: str, headers: Mapping[str, str], alone: bool) -> httpx.Response:
        """Send the request, and again wherever a redirect points to, if that is permitted."""
        import httpx

        client = self._client(alone)
        previous = None
        for _ in range(_MOST_REDIRECTS + 1):
            url, origin = self._permit(url, previous)
            allowed = {**_HEADERS, **self._with_credentials(url, origin, headers)}
            # The client's own builder merges cookies and parameters, of which there are none.
            response = client.send(httpx.Request("GET", url, headers=allowed), stream=True)
            location = response.headers.get("location")
            if response.status_code not in _REDIRECTS or not location:
                return response
            response.close()
            previous, url = origin, _join(url, location)
        raise AttemptError(f"redirected more than {_MOST_REDIRECTS} times")

    def _permit(self, url: str, previous: Origin | None) -> tuple[str, Origin]:
        """The URL if it may be asked, first or after a redirect, and whom it belongs to.

        Credentials in it are dropped: none come from servers, and indexes keep theirs apart.
        """
        try:
            url, _ = split_credentials(url)
            origin = Origin.of(url)
        except ValueError as error:
            raise AttemptError(
                f"{'redirected to ' if previous else ''}{error}", error=BadReferenceError
            ) from None
        downgrade = previous is not None and previous.scheme == "https"
        known = origin in self._configured and not downgrade
        if origin.scheme == "https" or (origin.is_loopback and (self.allow_local or known)):
            return url, origin
        if previous is not None:
            raise AttemptError(
                f"redirected from {previous.scheme} to plain http ({redact(url)}), which is refused"
            )
        raise AttemptError(
            f"{redact(url)} is plain HTTP, which anybody on the way could read and change",
            error=BadReferenceError,
            hint="Use https://. Plain HTTP is for servers on this machine only.",
        )

    @cached_property
    def _configured(self) -> frozenset[Origin]:
        return frozenset(index.origin for index in self.indexes.all())

    def _with_credentials(
        self, url: str, origin: Origin, headers: Mapping[str, str]
    ) -> dict[str, str]:
        """Headers with the credentials of that origin, and of no other."""
        api = self.indexes.github_api
        if api.token is not None and url.startswith(api.url):
            return {**headers, "Authorization": f"Bearer {api.token}"}
        ours = [index for index in self.indexes.all() if index.credentials is not None]
        ours = [index for index in ours if index.origin == origin]
        if not ours:
            return dict(headers)
        # Several indexes of one server may have several users.
        best = max(ours, key=lambda index: len(index.url) if url.startswith(index.url) else 0)
        assert best.credentials is not None
        pair = f"{best.credentials.user}:{best.credentials.password}".encode()
        return {**headers, "Authorization": f"Basic {base64.b64encode(pair).decode()}"}

    def _client(self, alone: bool) -> httpx.Client:
        with self._lock:
            if alone not in self._opened:
                self._opened[alone] = self._new_client(http2=not alone)
            return self._opened[alone]

    def _new_client(self, *, http2: bool) -> httpx.Client:
        import httpx

        from vvbuild.fetch.cookies import NoCookies

        seconds = self.timeouts
        try:
            return httpx.Client(
                http2=http2,
                verify=self.trust.context,
                cookies=NoCookies(),
                timeout=httpx.Timeout(seconds.idle, connect=seconds.connect, pool=None),
                limits=httpx.Limits(max_connections=64, max_keepalive_connections=16),
                # This machine is never asked through a proxy.
                mounts={f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")},
            )
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            raise UsageError(
                f"The proxy settings cannot be used: {redact(str(error))}",
                hint="Look at HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.",
            ) from error


def _join(base: str, location: str) -> str:
    try:
        return urljoin(base, location)
    except ValueError:
        raise AttemptError(f"redirected to {location!r}, which is no address") from None


def _wake(response: httpx.Response) -> None:
    """End a read that blocks in another thread.

    Closing a socket does not wake its reader, shutting it down does. The plain socket's method
    is used: the one of a TLS socket would change the state that the reader is using.
    """
    stream = response.extensions.get("network_stream")
    plain = stream.get_extra_info("socket") if stream is not None else None
    if plain is not None:
        try:
            socket.socket.shutdown(plain, socket.SHUT_RDWR)
        except OSError:
            # It is closed already.
            pass
