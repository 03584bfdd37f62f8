"""Whom we believe to be who they say."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path

import pytest

from tests.fetch.conftest import artifact_for
from vvbuild.errors import NetworkError
from vvbuild.fetch import trust
from vvbuild.fetch.attempts import Patience, RetryPolicy
from vvbuild.fetch.session import Session
from vvbuild.fetch.transfer import fetch_artifact
from vvbuild.fetch.trust import choose_trust

unix = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="their stores are no files")


@pytest.fixture
def bare(monkeypatch):
    """A system without any authority."""
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    nothing = ssl.DefaultVerifyPaths(None, None, "", "/none", "", "/none")
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: nothing)
    monkeypatch.setattr(trust, "_BUNDLES", ("/none/bundle.pem",))


@pytest.fixture
def pem(authority, tmp_path) -> Path:
    path = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(path)
    return path


def fetch(tls_server, body, dest):
    artifact = artifact_for(body, tls_server.serve("/thing.bin", body))
    with Session(patience=Patience(RetryPolicy(waits=()))) as session:
        return fetch_artifact(artifact, dest, session=session)


def test_ssl_cert_file_is_respected(tls_server, pem, body, dest, monkeypatch):
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    assert fetch(tls_server, body, dest).read_bytes() == body
    assert choose_trust().origin == "SSL_CERT_FILE"


def test_ssl_cert_dir_is_respected(pem, tmp_path, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    (tmp_path / "authorities").mkdir()
    # OpenSSL looks authorities up by names of this form.
    (tmp_path / "authorities" / "01234567.0").write_bytes(pem.read_bytes())
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "authorities"))
    assert choose_trust().origin == "SSL_CERT_DIR"


def test_without_a_word_strangers_are_not_trusted(tls_server, body, dest):
    with pytest.raises(NetworkError, match="not trusted"):
        fetch(tls_server, body, dest)


@unix
def test_the_systems_bundle_is_found_where_openssl_does_not_look(
    bare, tls_server, pem, body, dest, monkeypatch
):
    monkeypatch.setattr(trust, "_BUNDLES", ("/none/bundle.pem", str(pem)))
    assert fetch(tls_server, body, dest).read_bytes() == body
    assert choose_trust().origin == "the operating system's store"


@unix
def test_certifi_serves_a_system_without_authorities(bare):
    chosen = choose_trust()
    assert chosen.origin.startswith("certifi's bundle")
    assert chosen.context.cert_store_stats()["x509_ca"] > 50


@unix
def test_a_variable_that_names_nothing_is_passed_over_and_told(bare, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    assert choose_trust().origin.endswith("(SSL_CERT_FILE and SSL_CERT_DIR named nothing)")


@unix
def test_an_untrusted_server_is_explained_by_where_the_authorities_came_from(
    bare, tls_server, body, dest
):
    with pytest.raises(NetworkError) as caught:
        fetch(tls_server, body, dest)
    assert "certifi's bundle, as this system has none" in caught.value.hint


def test_names_and_certificates_are_always_checked():
    context = choose_trust().context
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
