"""URLs: what may be asked for, who they belong to, and how they are shown."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit

_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)(?P<rest>[^\s\"'<>]*)", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?:\[[0-9a-f:.]*\]|[^\s@:/]*)(?::\d*)?(?:[/#]|$)", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user name and a password. Their ``repr`` tells neither."""

    user: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Origin:
    """Whom a URL belongs to. Credentials of one origin are never sent to another."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Origin:
        """The origin of an ``http`` or ``https`` URL; raises ``ValueError`` for any other."""
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError(f"not an HTTP address: {redact(url)}")
        return cls(parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme])

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def split_credentials(url: str) -> tuple[str, Credentials | None]:
    """Take ``user:password@`` out of a URL."""
    parts = urlsplit(url)
    if parts.username is None and parts.password is None:
        return url, None
    bare = parts.netloc.rpartition("@")[2]
    credentials = Credentials(unquote(parts.username or ""), unquote(parts.password or ""))
    return urlunsplit(parts._replace(netloc=bare)), credentials


def redact(text: str) -> str:
    """Hide what may be secret in any text: user names, passwords and queries of URLs.

    A query is hidden since the addresses that servers redirect to are often signed.
    """
    return _URL.sub(_redact_one, text)


def _redact_one(match: re.Match[str]) -> str:
    rest, query, _ = match["rest"].partition("?")
    if not _AUTHORITY.match(rest):
        # A user name and a password, perhaps with a raw "/", "?" or "@" in them.
        rest = rest.rpartition("@")[2] if "@" in rest else "…"
    return f"{match['scheme']}{rest}" + ("?…" if query else "")
