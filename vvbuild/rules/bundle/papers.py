"""Rules over a bundle: the licences of what is in it."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterator, Sequence

from vvbuild.model.content import LicenceRow, meant
from vvbuild.model.finding import Severity
from vvbuild.rules.bundle.wording import listed, together
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

# A licence is longer; MIT's has some 1000 letters, and short notices about 200.
_SHORTEST = 100
_SHORT = f"has a text of fewer than {_SHORTEST} letters"
_PAGE = re.compile(r"\s*(<!doctype\s+html|<html|<\?xml)", re.IGNORECASE)


@rule(
    "licence-missing",
    "error",
    why="What is redistributed must bring its licence; lists are made from Python's packages, and "
    "do not know of the libraries inside of them.",
    source="VOICEVOX/voicevox_additional_libraries#14",
    fix="Place the licence by a row of the recipe, or add it to the engine's list of licences.",
)
def licence_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """Libraries have their licence in the engine's list or as a file, and it is its text."""
    rows = _entries(evidence)
    if rows is None:
        # `manifest-invalid` says that the list is not there, or no list.
        return
    names = [str(row.get("name", "")).lower() for row in rows]
    for row in evidence.tables.bytes.content.licence:
        libraries = [path for path in evidence.files if meant(path, row.libraries)]
        if libraries and not _is_licensed(row, names, evidence):
            yield together(
                libraries,
                f"is {row.of}'s, whose licence is missing",
                f"{{n}} libraries are {row.of}'s, whose licence is missing",
                severity=row.severity,
                wanted=listed([*row.entries, *row.files]),
            )
    yield from _texts(rows, _list_path(evidence))


def _is_licensed(row: LicenceRow, names: Sequence[str], evidence: BundleEvidence) -> bool:
    if any(fnmatch.fnmatchcase(name, glob) for name in names for glob in row.entries):
        return True
    files = (path for path, file in evidence.files.items() if file.size)
    return bool(row.files) and any(meant(path, row.files) for path in files)


def _texts(rows: Sequence[dict[str, object]], path: str) -> Iterator[Found]:
    """What is wrong with the texts of the list."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        text = row.get("text")
        name = str(row.get("name", "?"))
        if not isinstance(text, str) or not text.strip() or text.strip().upper() == "UNKNOWN":
            groups.setdefault("has no text", []).append(name)
        elif _PAGE.match(text):
            groups.setdefault("has a web page instead of its text", []).append(name)
        elif len(text.strip()) < _SHORTEST:
            groups.setdefault(_SHORT, []).append(name)
    for words, names in groups.items():
        severity: Severity = "warning" if words == _SHORT else "error"
        yield Found(f"the licence of {listed(names)} {words}", path, severity=severity)


def _entries(evidence: BundleEvidence) -> list[dict[str, object]] | None:
    """The rows of the engine's list of licences, ``None`` where it cannot be read."""
    document = evidence.documents.get(_list_path(evidence))
    value = document.value if document is not None else None
    if not isinstance(value, list):
        return None
    return [row for row in value if isinstance(row, dict)]


def _list_path(evidence: BundleEvidence) -> str:
    named = (evidence.manifest.data or {}).get("dependency_licenses")
    return posixpath.normpath(str(named)) if named else "licenses.json"
