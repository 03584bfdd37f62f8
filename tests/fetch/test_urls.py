"""Secrets in addresses are never shown, and belong to one server."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.fetch.urls import Credentials, Origin, redact, split_credentials

SECRET = st.text(st.characters(min_codepoint=33, max_codepoint=0x3400), min_size=4)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://u:p@host/x", "https://host/x"),
        ("https://token@host/x", "https://host/x"),
        ("GET https://u:p@host:80/x failed", "GET https://host:80/x failed"),
        ("https://u:p@ss@host/x", "https://host/x"),
        ("https://u:p/ss@host/x", "https://host/x"),
        ("https://u:p?ss@host/x", "https://…?…"),
        ("https://host/x?sig=secret&b=c", "https://host/x?…"),
        ("http://host:80/@scope/pkg", "http://host:80/@scope/pkg"),
        ("https://[::1]:8080/x", "https://[::1]:8080/x"),
        ("a@b.c and https://host", "a@b.c and https://host"),
        ("socks5://u:p@proxy:1080", "socks5://proxy:1080"),
        ("two: https://a:b@c/ https://d:e@f/", "two: https://c/ https://f/"),
    ],
)
def test_what_may_be_secret_is_hidden(text, shown):
    assert redact(text) == shown


@given(SECRET, SECRET)
def test_no_encoded_secret_survives(user, password):
    url = f"https://{quote(user, safe='')}:{quote(password, safe='')}@host.test/path"
    assert redact(f"see {url}!") == "see https://host.test/path!"
    assert split_credentials(url) == ("https://host.test/path", Credentials(user, password))


@given(st.text())
def test_hiding_twice_hides_nothing_more(text):
    assert redact(redact(text)) == redact(text)


def test_a_url_without_credentials_is_left_alone():
    assert split_credentials("https://host/x?y#z") == ("https://host/x?y#z", None)


def test_origins_differ_by_scheme_host_and_port():
    same = {Origin.of(url) for url in ("https://Host.test/a", "https://host.test:443/b?c")}
    assert same == {Origin("https", "host.test", 443)}
    others = {Origin.of(u) for u in ("http://host.test/", "https://host.test:1/", "https://h.test")}
    assert len(others | same) == 4


@pytest.mark.parametrize("url", ["file:///x", "ftp://host/", "https://", "x", "http://h:99999/"])
def test_only_http_has_origins(url):
    with pytest.raises(ValueError):
        Origin.of(url)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "LOCALHOST"])
def test_loopback_is_this_machine(host):
    assert Origin.of(f"http://{host}/").is_loopback


@pytest.mark.parametrize("host", ["host.test", "10.0.0.1", "localhost.test", "0.0.0.0", "[::2]"])
def test_nothing_else_is_this_machine(host):
    assert not Origin.of(f"http://{host}/").is_loopback
