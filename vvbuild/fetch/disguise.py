"""A page where a file should be: sign-in pages, error documents, captive portals."""

from __future__ import annotations

_PAGES = {
    "text/html": "an HTML page",
    "application/xhtml+xml": "an HTML page",
    "application/json": "a JSON document",
    "application/problem+json": "a JSON document",
    "application/xml": "an XML document",
    "text/xml": "an XML document",
}
_BEGINNINGS = (
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<?xml", "an XML document"),
    (b"{", "a JSON document"),
)
_TEXTS = (".html", ".htm", ".json", ".xml", ".txt", ".md")


def disguise_by_type(name: str, content_type: str | None) -> str | None:
    """What a ``Content-Type`` says it is, if that cannot be the file of that name."""
    if name.lower().endswith(_TEXTS):
        return None
    return _PAGES.get((content_type or "").partition(";")[0].strip().lower())


def disguise_by_head(name: str, head: bytes) -> str | None:
    """What the first bytes show it to be, if that cannot be the file of that name."""
    if name.lower().endswith(_TEXTS):
        return None
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return next((what for mark, what in _BEGINNINGS if begin.startswith(mark)), None)
