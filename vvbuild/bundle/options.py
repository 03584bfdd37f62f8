"""Reading what the user chose for a bundle."""

from __future__ import annotations

from typing import get_args

from vvbuild.errors import UsageError
from vvbuild.manifest.decode import no_such
from vvbuild.model.release import ArchiveKind


def parse_kinds(text: str | None) -> tuple[ArchiveKind, ...] | None:
    """Read ``vvpp,7z``; ``None`` leaves it to the release. Raises :class:`UsageError`."""
    if text is None:
        return None
    known: tuple[ArchiveKind, ...] = get_args(ArchiveKind)
    kinds: list[ArchiveKind] = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        kind = next((each for each in known if each == word), None)
        if kind is None:
            raise UsageError(no_such("archive format", word, known))
        if kind not in kinds:
            kinds.append(kind)
    if not kinds:
        raise UsageError("--archive names no format.", hint="Leave it out for the release's own.")
    return tuple(kinds)
