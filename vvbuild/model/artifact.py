"""One file to fetch."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from vvbuild.model.digest import Digest
from vvbuild.model.locked import Member
from vvbuild.model.reference import Reference
from vvbuild.model.release import Unpack
from vvbuild.model.size import ByteSize

# Control characters, what Windows forbids, what makes text run backwards or breaks lines, and
# halves of characters (names that are not Unicode).
_FORBIDDEN = re.compile(
    r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]'
)
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(\..*)?")


def check_file_name(name: str) -> str:
    """Return ``name`` if it can be a file's name on every system we build for.

    Raises ``ValueError`` for paths, control characters, and names reserved on Windows:
    manifests, servers and archives are hostile input.
    """
    if not name or name in (".", "..") or _FORBIDDEN.search(name) or name[-1] in ". ":
        raise ValueError(f"not a plain file name: {name!r}")
    if _RESERVED.fullmatch(name):
        raise ValueError(f"{name!r} is a reserved name on Windows")
    if len(name.encode()) > 255 or unicodedata.normalize("NFC", name) != name:
        raise ValueError(f"too long, or not in Unicode form NFC: {name!r}")
    return name


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file of a component, with where it is served and the bytes that it must have.

    ``size`` is exact; where nobody could know it, ``max_size`` bounds what may be read.
    ``targets`` holds the names of the targets that need it. ``provenance`` says per fact
    where it came from. It goes into the folder ``into`` of its component's tree, by ``unpack``;
    ``members`` are then what the lock knows of that. ``terms`` is the digest of a text that
    must be accepted first.
    """

    name: str
    component: str
    version: str
    references: tuple[Reference, ...]
    sha256: Digest
    size: ByteSize | None
    max_size: ByteSize | None = None
    targets: tuple[str, ...] = ()
    licence: str = ""
    provenance: dict[str, str] = field(default_factory=dict)
    into: str = ""
    unpack: Unpack = "whole"
    members: Mapping[str, Member] = field(default_factory=dict)
    terms: Digest | None = None

    @property
    def limit(self) -> ByteSize:
        """The most bytes that may be read for it."""
        limit = self.size if self.size is not None else self.max_size
        assert limit is not None
        return limit
