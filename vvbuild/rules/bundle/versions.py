"""Rules over a bundle: all that tells a version tells the same."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vvbuild.model.content import ToldRow
from vvbuild.rules.evidence import BundleEvidence, FileFacts
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_MANIFEST = "engine_manifest.json"
_NAMED = re.compile(
    r".*?-(?P<version>\d+\.\d+\.\d+(-[0-9A-Za-z.-]+?)?)"
    r"((\.\d{3})?\.vvppp?|\.(7z|zip|tar\.\w+|tar)(\.\d{3})?)"
)


@dataclass(frozen=True, slots=True)
class Told:
    """A version, as far as it is told, and what tells it."""

    version: str
    by: str


@rule(
    "version-disagrees",
    "error",
    why="Editor and user see the manifest's version, and support goes by it; a release went out "
    "with the engine of the one before, and could not be mended under its number.",
    source="VOICEVOX/voicevox#2297",
    fix="Build with the release whose versions are meant; where the bundle is right, mend the pin, "
    "the archive's name or what was expected.",
)
def version_disagrees(evidence: BundleEvidence) -> Iterator[Found]:
    """Manifest, archive's name, vvbuild.json, libraries and what was expected agree."""
    shown = (evidence.manifest.data or {}).get("version")
    told = versions_told(evidence)
    if isinstance(shown, str) and shown:
        yield from _about_engine(evidence, shown)
    yield from _against_pins(evidence, told)
    for component, version in evidence.expected.items():
        known = told.get(component) or _promised(evidence, component)
        if component == "engine" and isinstance(shown, str):
            known = Told(shown, _MANIFEST)
        if known is None:
            yield Found(f"{component} {version} is expected, and nothing tells its version")
        elif not agree(version, known.version, exact=component == "engine"):
            yield Found(
                f"{component} {version} is expected, but {known.by} says {known.version}",
                known.by,
                {"expected": version, "found": known.version},
            )


def versions_told(evidence: BundleEvidence) -> dict[str, Told]:
    """Component → its version as the bytes of the bundle tell it, by the table's rows."""
    found: dict[str, Told] = {}
    libraries = sorted(evidence.binaries(), key=lambda file: file.path)
    for row in evidence.tables.bytes.content.told:
        for file in libraries:
            version = _version_of(file, row) if row.is_about(file.path) else None
            if version is not None:
                found.setdefault(row.component, Told(version, file.path))
    return found


def agree(one: str, other: str, *, exact: bool = False) -> bool:
    """Whether two versions can be the same one; a shorter one leaves the rest open."""
    if exact:
        return one == other
    return all(a == b for a, b in zip(_parts(one), _parts(other), strict=False))


def _parts(version: str) -> list[str]:
    return [part.lstrip("0") or "0" for part in re.split(r"[.+_-]", version)]


def _version_of(file: FileFacts, row: ToldRow) -> str | None:
    texts: Mapping[str, str | None] = {
        "name": file.name,
        "link-name": _link_name(file),
        "version-resource": file.pe.file_version if file.pe is not None else None,
    }
    match = re.fullmatch(row.pattern, texts[row.by] or "")
    return ".".join(filter(None, match.groups())) if match is not None else None


def _link_name(file: FileFacts) -> str | None:
    if file.elf is not None:
        return file.elf.soname
    names = [each.install_name for each in file.macho.slices] if file.macho is not None else []
    return posixpath.basename(names[0]) if names and names[0] else None


def _about_engine(evidence: BundleEvidence, shown: str) -> Iterator[Found]:
    table = evidence.tables.bytes.content
    built = evidence.section("engine").get("version")
    named = _name_says(evidence)
    if shown in table.placeholders:
        yield Found(f"says {shown!r}, which stands for no version", _MANIFEST)
    elif built is not None and shown != built:
        yield Found(f"says {shown!r}, but it was built as {built!r}", _MANIFEST)
    if named is not None and named != shown:
        yield Found(f"says {shown!r}, but the archive is called {named!r}", _MANIFEST)
    yield from _notes(evidence, shown)


def _notes(evidence: BundleEvidence, shown: str) -> Iterator[Found]:
    path = posixpath.normpath(str((evidence.manifest.data or {}).get("update_infos")))
    document = evidence.documents.get(path)
    rows = document.value if document is not None and isinstance(document.value, list) else []
    first = rows[0].get("version") if rows and isinstance(rows[0], dict) else None
    if isinstance(first, str) and first != shown:
        yield Found(
            f"begins with the notes of {first}, and the engine is {shown}",
            path,
            severity="warning",
        )


def _name_says(evidence: BundleEvidence) -> str | None:
    """The version in the archive's name, if it ends with one."""
    name = next(iter(evidence.packed.parts), "") if evidence.packed is not None else ""
    match = _NAMED.fullmatch(name)
    return match["version"] if match is not None else None


def _against_pins(evidence: BundleEvidence, told: Mapping[str, Told]) -> Iterator[Found]:
    """Libraries of another version than vvbuild.json says; `ort-name` looks at link names."""
    by_name = {row.component for row in evidence.tables.bytes.content.told if row.by == "link-name"}
    for component, known in told.items():
        pinned = evidence.version(component)
        if pinned is None or component in evidence.expected or agree(pinned, known.version):
            continue
        if component not in by_name or evidence.os == "win":
            yield Found(
                f"is {component} {known.version}, and vvbuild.json says {pinned}",
                known.by,
                {"expected": pinned, "found": known.version},
            )


def _promised(evidence: BundleEvidence, component: str) -> Told | None:
    if component == "engine":
        version = evidence.section("engine").get("version")
    elif component == "python":
        version = evidence.section("python").get("version")
    else:
        version = evidence.version(component)
    return Told(version, "vvbuild.json") if isinstance(version, str) else None
