"""A real HTTP server on loopback that plays scripts of faults and remembers its requests."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import socket
import ssl
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO

from tests.server.faults import (
    Announce,
    BadContentRange,
    Cut,
    Drip,
    Drop,
    Endless,
    Fault,
    IgnoreRange,
    NoLength,
    OtherTag,
    Redirect,
    Replace,
    Reset,
    Stall,
    Status,
    Throttle,
    WrongRange,
)

_WHOLE = 1 << 62


@dataclass
class Resource:
    """Something that is served: bytes or a file, and the faults to play before it is served well.

    ``always`` is played once the script is over. ``headers`` are sent beside the usual ones.
    """

    body: bytes | Path
    content_type: str = "application/octet-stream"
    etag: str | None = None
    last_modified: str | None = None
    ranges: bool = True
    script: deque[Fault] = field(default_factory=deque)
    always: Fault = field(default_factory=Fault)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.body.stat().st_size if isinstance(self.body, Path) else len(self.body)

    def next_fault(self) -> Fault:
        return self.script.popleft() if self.script else self.always


@dataclass(frozen=True)
class Request:
    """What a client asked; header names are in lower case. The query is apart from the path."""

    path: str
    headers: dict[str, str]
    query: str = ""


class LoopbackServer:
    """A server with resources. ``url("/x")`` is where one is; ``requests`` what was asked.

    A resource at ``/x?page=2`` is served for that query, one at ``/x`` for all others.
    """

    def __init__(self, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self.resources: dict[str, Resource] = {}
        self.requests: list[Request] = []
        self.sent = 0
        self.closing = threading.Event()
        self._host = host
        self._scheme = "https" if tls else "http"
        self._httpd = _Httpd(("127.0.0.1", 0), _Handler)
        self._httpd.owner = self
        if tls is not None:
            self._httpd.socket = tls.wrap_socket(
                self._httpd.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._httpd.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> LoopbackServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._httpd.shutdown()
        self._httpd.server_close()

    @property
    def port(self) -> int:
        return self._httpd.server_address[1]

    def url(self, path: str = "/") -> str:
        return f"{self._scheme}://{self._host}:{self.port}{path}"

    def asked(self, path: str) -> list[Request]:
        """The requests for one path."""
        return [request for request in self.requests if request.path == path]

    # What can be served

    def serve(
        self,
        path: str,
        body: bytes | Path,
        *script: Fault,
        always: Fault | None = None,
        etag: str | None = "default",
        **facts: object,
    ) -> str:
        """Serve bytes or a file at a path; returns its URL. By default with a strong ETag."""
        if etag == "default":
            data = body if isinstance(body, bytes) else os.fsencode(body)
            etag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        self.resources[path] = Resource(
            body, etag=etag, script=deque(script), always=always or Fault(), **facts
        )
        return self.url(path)

    def pypi(
        self,
        project: str,
        files: dict[str, bytes],
        *script: Fault,
        html: bool = False,
        digests: dict[str, str] | None = None,
    ) -> str:
        """Serve a project of a simple index under ``/simple/``; the script is the page's.

        ``digests`` replaces what the index says of single files. Returns the index's URL.
        """
        rows = []
        for name, body in files.items():
            self.serve(f"/files/{name}", body)
            digest = (digests or {}).get(name, hashlib.sha256(body).hexdigest())
            rows.append((name, f"../../files/{name}", digest, len(body)))
        path = f"/simple/{project}/"
        if html:
            links = "".join(
                f'<a href="{url}#sha256={digest}">{name}</a><br/>\n'
                for name, url, digest, _ in rows
            )
            page = f"<!DOCTYPE html><html><body>{links}</body></html>"
            self.serve(path, page.encode(), *script, content_type="text/html; charset=utf-8")
        else:
            page = json.dumps({
                "meta": {"api-version": "1.1"},
                "name": project,
                "files": [
                    {"filename": name, "url": url, "hashes": {"sha256": digest}, "size": size}
                    for name, url, digest, size in rows
                ],
            })  # fmt: skip
            kind = "application/vnd.pypi.simple.v1+json"
            self.serve(path, page.encode(), *script, content_type=kind)
        return self.url("/simple/")

    def npm(self, package: str, versions: dict[str, bytes], *, single: bool = True) -> str:
        """Serve a package of a registry under ``/npm/``. Returns the registry's URL.

        ``single`` is whether documents of one version are served, which not all registries do.
        """
        base = package.rsplit("/", 1)[-1]
        path = f"/npm/{package.replace('/', '%2F')}"
        documents = {}
        for version, body in versions.items():
            tarball = self.serve(f"/npm/{package}/-/{base}-{version}.tgz", body)
            documents[version] = {"name": package, "version": version, "dist": {"tarball": tarball}}
            if single:
                page = json.dumps(documents[version]).encode()
                self.serve(f"{path}/{version}", page, content_type="application/json")
        page = json.dumps({"name": package, "versions": documents}).encode()
        self.serve(path, page, content_type="application/json")
        return self.url("/npm/")


class _Httpd(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    owner: LoopbackServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two writes; together with delayed acknowledgements that costs 40 ms.
    disable_nagle_algorithm = True
    server: _Httpd

    def log_message(self, *args: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        owner = self.server.owner
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        owner.requests.append(Request(path, headers, query))
        resource = owner.resources.get(self.path) or owner.resources.get(path)
        if resource is None:
            self._status(404, {}, b"nothing here\n")
            return
        self._play(resource, resource.next_fault())

    def _play(self, resource: Resource, fault: Fault) -> None:
        if isinstance(fault, Drop):
            self._drop()
        elif isinstance(fault, Status):
            self._status(fault.code, fault.headers, fault.body)
        elif isinstance(fault, Redirect):
            self._status(fault.code, {"Location": fault.to}, b"")
        elif isinstance(fault, Replace):
            self._status(200, {"Content-Type": fault.content_type, **fault.headers}, fault.body)
        elif isinstance(fault, Stall) and fault.at is None:
            self.server.owner.closing.wait()
        else:
            self.server.owner.closing.wait(getattr(fault, "latency", 0.0))
            self._serve(resource, fault)

    def _serve(self, resource: Resource, fault: Fault) -> None:
        size = resource.size
        first, last, partial = 0, size, False
        if resource.ranges and not isinstance(fault, IgnoreRange) and self._still(resource):
            match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if match:
                partial = True
                first = int(match[1]) + (fault.shift if isinstance(fault, WrongRange) else 0)
                last = min(size, int(match[2]) + 1) if match[2] else size
                if first >= size:
                    self._status(416, {"Content-Range": f"bytes */{size}"}, b"")
                    return
        length = fault.length if isinstance(fault, Announce) else last - first
        headers = {"Content-Type": resource.content_type, "Accept-Ranges": "bytes"}
        headers.update(resource.headers)
        if resource.etag is not None:
            headers["ETag"] = fault.etag if isinstance(fault, OtherTag) else resource.etag
        if resource.last_modified is not None:
            headers["Last-Modified"] = resource.last_modified
        if partial and isinstance(fault, BadContentRange):
            if fault.text is not None:
                headers["Content-Range"] = fault.text
        elif partial:
            headers["Content-Range"] = f"bytes {first}-{last - 1}/{size}"
        if isinstance(fault, (NoLength, Endless)):
            headers["Connection"] = "close"
        else:
            headers["Content-Length"] = str(length)
        self._head(206 if partial else 200, headers)
        self._body(resource, first, length, fault)

    def _still(self, resource: Resource) -> bool:
        """Whether ``If-Range`` holds."""
        wanted = self.headers.get("If-Range")
        return wanted is None or wanted in (resource.etag, resource.last_modified)

    def _body(self, resource: Resource, first: int, length: int, fault: Fault) -> None:
        if isinstance(resource.body, Path):
            with resource.body.open("rb") as stream:
                self.wfile.flush()
                if isinstance(fault, Throttle):
                    self._throttled(stream, first, length, fault)
                else:
                    self.connection.sendfile(stream, first, length)
            return
        data = resource.body[first : first + length].ljust(length, b"\0")
        at = getattr(fault, "at", _WHOLE)
        step = fault.size if isinstance(fault, Drip) else 1 << 16
        while True:
            for begin in range(0, min(at, len(data)), step):
                self._write(data[begin : min(begin + step, at)])
                if isinstance(fault, Drip):
                    self.server.owner.closing.wait(fault.seconds)
            if not isinstance(fault, Endless):
                break
        if isinstance(fault, Stall):
            self.server.owner.closing.wait()
        elif isinstance(fault, Reset):
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._drop(orderly=False)
        elif isinstance(fault, (Cut, NoLength, Endless)):
            self._drop()

    def _throttled(self, stream: BinaryIO, first: int, length: int, fault: Throttle) -> None:
        began, sent, step = time.monotonic(), 0, 1 << 18
        while sent < length:
            self.connection.sendfile(stream, first + sent, min(step, length - sent))
            sent += step
            ahead = sent / fault.rate - (time.monotonic() - began)
            if ahead > 0 and self.server.owner.closing.wait(ahead):
                return

    def _status(self, code: int, headers: dict[str, str], body: bytes) -> None:
        self._head(code, {"Content-Length": str(len(body)), **headers})
        self._write(body)

    def _head(self, code: int, headers: dict[str, str]) -> None:
        try:
            phrase = HTTPStatus(code).phrase
        except ValueError:
            phrase = "Odd"
        lines = [f"HTTP/1.1 {code} {phrase}", *(f"{k}: {v}" for k, v in headers.items()), "", ""]
        self.wfile.write("\r\n".join(lines).encode("latin-1"))
        if headers.get("Connection") == "close":
            self.close_connection = True

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.server.owner.sent += len(data)

    def _drop(self, *, orderly: bool = True) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            if orderly:
                self.connection.shutdown(socket.SHUT_RDWR)
            else:
                # Without a shutdown, and with SO_LINGER 0, closing sends a reset.
                self.connection.close()
