"""Texts that must be accepted, in one canonical form: the same words have the same digest."""

from __future__ import annotations

# No text that people could be asked to read is larger.
MOST_BYTES = 1 << 20


def terms_text(text: str) -> str:
    """A text with plain line ends, without blanks before them, and with one at its end.

    Its digest is the SHA-256 of this form in UTF-8. Raises ``ValueError`` that says why it is no
    text which could be accepted.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    plain = "\n".join(line.rstrip(" \t") for line in lines.split("\n")).rstrip("\n") + "\n"
    if not plain.strip():
        raise ValueError("it is empty")
    if "\0" in plain:
        raise ValueError("it has bytes of value 0")
    if len(plain.encode()) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES} bytes")
    return plain


def decode_terms(data: bytes) -> str:
    """The canonical form of a file's text; ``ValueError`` as of :func:`terms_text`."""
    try:
        return terms_text(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 (byte {error.start})") from None
