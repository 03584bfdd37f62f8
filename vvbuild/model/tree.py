"""A directory as a value: sorted paths with their kind, digest and size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from vvbuild.model.digest import Digest
from vvbuild.model.size import ByteSize

EntryKind = Literal["file", "program", "link", "directory"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A member of a tree. ``program`` is a file with execute bits; ``directory`` an empty one.

    ``path`` is relative with forward slashes; ``link`` is what a symbolic link says.
    """

    path: str
    kind: EntryKind
    digest: Digest | None = None
    size: int = 0
    link: str | None = None

    @property
    def mode(self) -> int:
        """Permission bits: trees know only 755 and 644."""
        return 0o755 if self.kind == "program" else 0o644

    def as_json(self) -> list[object]:
        """The form that is stored and hashed."""
        return [self.path, self.kind, self.link if self.kind == "link" else str(self.digest or ""),
                self.size]  # fmt: skip

    @classmethod
    def from_json(cls, row: list[object]) -> Entry:
        """Read what :meth:`as_json` wrote; raises ``ValueError`` for anything else."""
        path, kind, value, size = row
        if not (isinstance(path, str) and isinstance(value, str) and type(size) is int):
            raise ValueError("malformed tree entry")
        if {"", ".", ".."} & set(path.split("/")) or "\0" in path or size < 0:
            raise ValueError(f"not a path inside a tree: {path!r}")
        if kind == "file" or kind == "program":
            return cls(path, kind, Digest(value), size)
        if kind == "link" and value:
            return cls(path, kind, link=value)
        if kind == "directory":
            return cls(path, kind)
        raise ValueError(f"unknown kind {kind!r}")


@dataclass(frozen=True)
class Tree:
    """Entries in the order of their paths' UTF-8 bytes."""

    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Tree:
        """Sort entries into a tree."""
        return cls(tuple(sorted(entries, key=lambda entry: entry.path.encode())))

    @cached_property
    def digest(self) -> Digest:
        """The tree's identity: equal trees are equal files at equal paths."""
        return Digest.of_json([entry.as_json() for entry in self.entries])

    @property
    def size(self) -> ByteSize:
        """Bytes of all files together."""
        return ByteSize(sum(entry.size for entry in self.entries))

    def find(self, path: str) -> Entry | None:
        """The entry at ``path``."""
        return next((entry for entry in self.entries if entry.path == path), None)
