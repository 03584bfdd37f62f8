"""Servers as fixtures, for every test."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest

from tests.server.github import LoopbackGitHub
from tests.server.http import LoopbackServer


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    """A plain HTTP server on 127.0.0.1."""
    with LoopbackServer() as running:
        yield running


@pytest.fixture
def other_server() -> Iterator[LoopbackServer]:
    """A second server, which is another host by its name and its port."""
    with LoopbackServer(host="localhost") as running:
        yield running


@pytest.fixture
def github(server: LoopbackServer, other_server: LoopbackServer) -> LoopbackGitHub:
    """A GitHub: API and download addresses on ``server``, the bytes on ``other_server``."""
    return LoopbackGitHub(server, storage=other_server)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A certificate authority that nobody trusts but who reads ``authority.pem``."""
    trustme = pytest.importorskip("trustme")
    return trustme.CA()


@pytest.fixture
def tls_server(authority: object) -> Iterator[LoopbackServer]:
    """An HTTPS server on localhost with a certificate of ``authority``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost", "127.0.0.1").configure_cert(context)
    with LoopbackServer(tls=context, host="localhost") as running:
        yield running
