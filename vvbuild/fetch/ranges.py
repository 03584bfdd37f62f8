"""The arithmetic of resuming: what to ask for, and whether the answer continues what we have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ContentRange:
    """Which bytes a part holds: ``first`` and ``last`` count from 0; ``total`` of the whole."""

    first: int
    last: int
    total: int | None

    @classmethod
    def parse(cls, text: str | None) -> ContentRange | None:
        """Read a ``Content-Range`` header; ``None`` for what makes no sense."""
        match = _CONTENT_RANGE.fullmatch((text or "").strip())
        if match is None:
            return None
        first, last = int(match[1]), int(match[2])
        total = None if match[3] == "*" else int(match[3])
        if last < first or (total is not None and last >= total):
            return None
        return cls(first, last, total)


def validator(headers: Mapping[str, str]) -> str | None:
    """What names exactly these bytes: a strong ``ETag``, else ``Last-Modified`` (RFC 9110 §13.1.5).

    A weak ETag names only something similar, and ``If-Range`` must not hold one.
    """
    etag = headers.get("etag", "")
    if etag.startswith('"'):
        return etag
    return headers.get("last-modified")


def range_headers(offset: int, known: str | None) -> dict[str, str]:
    """Ask for the bytes from ``offset`` on, if they are still those that ``known`` names.

    Without a validator the range is asked for alone; then only the digest of the whole tells
    whether the parts belong together.
    """
    headers = {"Range": f"bytes={offset}-"}
    if known is not None:
        headers["If-Range"] = known
    return headers
