"""``--expect``: what the bytes of a bundle must say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vvbuild.errors import UnknownNameError, UsageError
from vvbuild.manifest.decode import no_such
from vvbuild.model.release import COMPONENTS

_VERSION = re.compile(r"[0-9][0-9A-Za-z._+-]*")
_EXAMPLE = "Write it like --expect engine=0.25.2 or --expect onnxruntime=1.23.2."
# What is told of a text that may be of any length.
_SHOWN = 80


def parse_expected(texts: Sequence[str]) -> dict[str, str]:
    """Component → version of ``component=version`` texts.

    Raises :class:`UsageError`, for a name that is none :class:`UnknownNameError`.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, version = text.partition("=")
        if not equals:
            raise UsageError(f"Expected component=version, got {_shown(text)}.", hint=_EXAMPLE)
        if name not in COMPONENTS:
            raise UnknownNameError(no_such("component", name, COMPONENTS), hint=_EXAMPLE)
        if not _VERSION.fullmatch(version):
            raise UsageError(
                f"Expected a version such as 1.23.2, got {_shown(version)}.", hint=_EXAMPLE
            )
        if found.setdefault(name, version) != version:
            raise UsageError(f"Two versions of {name} are expected.", hint=_EXAMPLE)
    return found


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
