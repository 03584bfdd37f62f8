"""What uv's words mean: its exit status is 1 or 2, whatever went wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vvbuild.errors import (
    DigestMismatchError,
    DiskFullError,
    ExternalError,
    LockError,
    MissingError,
    NetworkError,
    NotFoundOnServerError,
    OfflineError,
    VvbuildError,
)
from vvbuild.fetch.urls import redact

_MOST_LINES = 25
_PACKAGE = re.compile(r"[A-Za-z0-9][\w.-]*==[\w.!+]*\w")
_ADDRESS = re.compile(r"https?://[^\s)`]+")


@dataclass(frozen=True, slots=True)
class _Meaning:
    """Words of uv, and the error that says the same to our users."""

    words: re.Pattern[str]
    error: type[VvbuildError]
    message: str
    hint: str | None


def _meaning(words: str, error: type[VvbuildError], message: str, hint: str | None) -> _Meaning:
    return _Meaning(re.compile(words, re.IGNORECASE), error, message, hint)


# Words of uv 0.13.9. The first that matches wins: a wrong digest is found while downloading, and
# without a network every package is "not found".
_MEANINGS = (
    _meaning(
        r"hash mismatch",
        DigestMismatchError,
        "A package's file is not the one whose digest the requirements give.",
        "Lock the requirements again if you trust the new file; otherwise tell the index's owner.",
    ),
    _meaning(
        r"--require-hashes",
        LockError,
        "The engine's requirements do not give version and digest of every package.",
        "Write them with `uv export` or `uv pip compile --generate-hashes`.",
    ),
    _meaning(
        r"no space left on device|disk quota exceeded",
        DiskFullError,
        "No space is left to install the engine's packages.",
        "Free some space, or put VVBUILD_CACHE_DIR on another disk.",
    ),
    _meaning(
        r"network (was|is) disabled|network connectivity is disabled",
        OfflineError,
        "Packages of the engine are not in the cache, and the network may not be used.",
        "Run once without --offline.",
    ),
    _meaning(
        r"no usable wheels|building from source is disabled|no wheels? with a matching"
        r"|is not compatible with the current",
        MissingError,
        "A package has no wheel for this Python on this machine.",
        "Choose a Python that the package's version supports (--python), or lock another version.",
    ),
    _meaning(
        r"not found in the package registry|there is no version of|404 Not Found",
        NotFoundOnServerError,
        "The package index does not have a package that the engine requires.",
        "Check the index that pip or uv is configured with; it may be a partial mirror.",
    ),
    _meaning(
        r"failed to (fetch|download|extract)|error sending request|HTTP status|timed out|dns error",
        NetworkError,
        "The packages of the engine could not be fetched.",
        "Check network, proxy and index (UV_DEFAULT_INDEX), and run again: what is there is kept.",
    ),
)


def name_failure(lines: Sequence[str], cause: ExternalError) -> VvbuildError:
    """The error to raise for a failed uv, with what was missing and uv's last lines."""
    shown = [redact(line) for line in lines[-_MOST_LINES:]]
    text = "\n".join(shown)
    context = {"what": _what(text), "uv": text, "command": cause.context.get("command", "")}
    for meaning in _MEANINGS:
        if meaning.words.search(text):
            return meaning.error(meaning.message, context=context, hint=meaning.hint)
    return ExternalError(
        f"The packages of the engine could not be installed: {cause.message}", context=context
    )


def _what(text: str) -> str:
    """The first package (``name==version``), else the first address, that uv speaks of."""
    if match := _PACKAGE.search(text):
        return match[0]
    match = _ADDRESS.search(text)
    return match[0] if match else "unknown"
