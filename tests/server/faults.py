"""What a server can do wrong, one class each. A resource plays its script, a fault a request."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fault:
    """Base: behaves well."""


@dataclass(frozen=True)
class Cut(Fault):
    """Close the connection in good order after ``at`` bytes of the body."""

    at: int


@dataclass(frozen=True)
class Reset(Fault):
    """Reset the connection after ``at`` bytes of the body."""

    at: int


@dataclass(frozen=True)
class Drop(Fault):
    """Close the connection without a word."""


@dataclass(frozen=True)
class Stall(Fault):
    """Send ``at`` bytes of the body, then nothing, until the client or the test is gone.

    ``None`` stalls before the status line.
    """

    at: int | None


@dataclass(frozen=True)
class Drip(Fault):
    """Send the body in pieces of ``size`` bytes."""

    size: int
    seconds: float = 0.0


@dataclass(frozen=True)
class Announce(Fault):
    """Say another ``Content-Length``; the body is filled up or cut to match it."""

    length: int


@dataclass(frozen=True)
class Endless(Fault):
    """Send the body again and again without a length, until the client is gone."""


@dataclass(frozen=True)
class NoLength(Fault):
    """Send the right body without a length; the end of the connection is its end."""


@dataclass(frozen=True)
class WrongRange(Fault):
    """Answer a range with one that begins ``shift`` bytes elsewhere."""

    shift: int


@dataclass(frozen=True)
class BadContentRange(Fault):
    """Answer a range with a ``Content-Range`` of this text, or none."""

    text: str | None


@dataclass(frozen=True)
class OtherTag(Fault):
    """Serve well, under another ``ETag``."""

    etag: str


@dataclass(frozen=True)
class Throttle(Fault):
    """Wait ``latency`` seconds, then send at ``rate`` bytes a second on this connection."""

    rate: float
    latency: float = 0.0


@dataclass(frozen=True)
class IgnoreRange(Fault):
    """Answer a range with the whole, as if none had been asked for."""


@dataclass(frozen=True)
class Replace(Fault):
    """Send another body, with matching headers."""

    body: bytes
    content_type: str = "application/octet-stream"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Status(Fault):
    """Answer with a status and a short text."""

    code: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"no\n"


@dataclass(frozen=True)
class Redirect(Fault):
    """Point somewhere else."""

    to: str
    code: int = 302
