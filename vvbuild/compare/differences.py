"""What a comparison says: each difference with both of its sides."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from vvbuild.model.digest import Digest
from vvbuild.model.finding import Finding
from vvbuild.model.release import Unpack
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Target


@dataclass(frozen=True, slots=True)
class Change:
    """What a key says before and after; ``None`` where a side does not have it.

    ``targets`` are those that it changes for, none where it does not depend on the target.
    """

    key: str
    before: str | None
    after: str | None
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """An artifact as the lock fixes it; ``sha256`` is ``None`` where nobody knows its bytes.

    ``into``, ``unpack`` and ``terms`` are as :class:`~vvbuild.model.artifact.Artifact` has them.
    """

    name: str
    component: str
    version: str
    references: tuple[str, ...]
    targets: tuple[str, ...]
    sha256: Digest | None
    size: ByteSize | None
    into: str = ""
    unpack: Unpack = "whole"
    terms: Digest | None = None


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file, and what stands in its place; ``None`` where nothing does."""

    before: File | None
    after: File | None


@dataclass(frozen=True, slots=True)
class WaiverText:
    """A waiver as written."""

    rule: str
    targets: tuple[str, ...]
    reason: str
    until: date | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that differs from ``before`` to ``after``, the names of two releases.

    ``common`` are the targets of both; what a target that only one of them has pins is no
    difference of its own. ``problems`` tells of locks that could not be read: the files of such
    a release are those that its manifest names.
    """

    before: str
    after: str
    common: tuple[Target, ...]
    targets: tuple[Change, ...]
    settings: tuple[Change, ...]
    pins: tuple[Change, ...]
    jobs: tuple[Change, ...]
    waivers_gone: tuple[WaiverText, ...]
    waivers_new: tuple[WaiverText, ...]
    files: tuple[FileChange, ...]
    findings_gone: tuple[Finding, ...]
    findings_new: tuple[Finding, ...]
    problems: tuple[tuple[str, str], ...]

    @property
    def identical(self) -> bool:
        """Whether nothing differs but the name."""
        return not any(
            (
                self.targets,
                self.settings,
                self.pins,
                self.jobs,
                self.waivers_gone,
                self.waivers_new,
                self.files,
                self.findings_gone,
                self.findings_new,
            )
        )
