"""What rules look at: the facts of a bundle's bytes, gathered by ``verify``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vvbuild.binary.elf import ElfFacts
from vvbuild.model.digest import Digest
from vvbuild.model.target import Target
from vvbuild.model.tree import EntryKind


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A member of a bundle; a ``directory`` is an empty one.

    ``text`` is the digest of an ELF program's machine code.
    """

    path: str
    kind: EntryKind
    size: int = 0
    sha256: Digest | None = None
    link: str | None = None
    elf: ElfFacts | None = None
    text: Digest | None = None


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A JSON file of a bundle: its object, or why it is none; both ``None`` when missing."""

    data: Mapping[str, object] | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class BundleEvidence:
    """The bytes of a bundle as facts."""

    target: Target | None
    program: str
    files: Mapping[str, FileFacts]
    manifest: JsonFile
    description: JsonFile

    def section(self, name: str) -> Mapping[str, object]:
        """A table of ``vvbuild.json``, empty where it is not there or no table."""
        value = (self.description.data or {}).get(name)
        return value if isinstance(value, dict) else {}
