"""SHA-256 digests as values."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """A SHA-256, kept as 64 lower-case hexadecimal digits."""

    hex: str

    def __post_init__(self) -> None:
        if not _HEX.fullmatch(self.hex):
            raise ValueError(f"expected 64 lower-case hexadecimal digits, got {self.hex!r}")

    def __str__(self) -> str:
        return self.hex

    @property
    def short(self) -> str:
        """The first twelve digits, for people."""
        return self.hex[:12]

    @classmethod
    def of_bytes(cls, data: bytes) -> Digest:
        """The digest of bytes in memory."""
        return cls(hashlib.sha256(data).hexdigest())

    @classmethod
    def of_json(cls, value: object) -> Digest:
        """The digest of a JSON value in canonical form: sorted keys, no spaces, UTF-8."""
        return cls.of_bytes(canonical_json(value))


def canonical_json(value: object) -> bytes:
    """Encode a JSON value so that equal values are equal bytes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()
