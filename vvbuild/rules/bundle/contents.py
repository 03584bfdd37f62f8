"""Rules over a bundle: what vvbuild.json promises, and what nobody asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vvbuild.model.content import meant
from vvbuild.rules.bundle.wording import together
from vvbuild.rules.evidence import BundleEvidence, FileFacts
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_DESCRIPTION = "vvbuild.json"
_BASE_LIBRARY = "base_library.zip"
# Origins that are no component: see ``bundle/describe.py``.
_OURS = frozenset({"frozen", "host", "licences", "vvbuild", "engine"})


@rule(
    "description-missing",
    "warning",
    why="Without vvbuild.json nobody can tell what a bundle was built from.",
    source="vvbuild, docs/bundle.md",
    fix="Build the bundle with vvbuild.",
)
def description_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """The bundle says what it was built from."""
    if evidence.description.data is None:
        yield Found(evidence.description.problem or "is missing", _DESCRIPTION)


@rule(
    "content-differs",
    "error",
    why="A file whose bytes are not those that were built was damaged or replaced.",
    source="RyderAsKing/PiChamber#157",
    fix="Unpack the archive again, or build again.",
)
def content_differs(evidence: BundleEvidence) -> Iterator[Found]:
    """Every file has the bytes, kind and link that vvbuild.json promises."""
    groups: dict[str, list[str]] = {}
    for path, row in _promised(evidence).items():
        file = evidence.files.get(path)
        words = _difference(file, row) if file is not None else None
        if words is not None:
            groups.setdefault(words, []).append(path)
    for words, paths in groups.items():
        yield together(paths, words, f"{{n}} files: each {words}")


@rule(
    "file-missing",
    "error",
    why="A file that was built and is not there fails when it is needed, not at the start.",
    source="VOICEVOX/voicevox_engine#408",
    fix="Unpack the archive again, with all its parts.",
)
def file_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """Everything that vvbuild.json lists is there."""
    lost = [path for path in _promised(evidence) if path not in evidence.files]
    if lost:
        yield together(lost, "is missing", "{n} files are missing")


@rule(
    "file-extra",
    "error",
    why="A new bundle unpacked over an old one mixes libraries of both.",
    source="VOICEVOX/onnxruntime-builder#111",
    fix="Remove it, or unpack into an empty directory.",
)
def file_extra(evidence: BundleEvidence) -> Iterator[Found]:
    """Nothing is there that vvbuild.json does not list; an empty folder mixes nothing."""
    promised = _promised(evidence)
    extra = [
        path
        for path, file in evidence.files.items()
        if path not in promised and path != _DESCRIPTION and file.kind != "directory"
    ]
    if promised and extra:
        yield together(
            extra, "was not built by this release", "{n} files were not built by this release"
        )


@rule(
    "unknown-origin",
    "error",
    why="What came from nowhere that is pinned can be anything, and nobody can build it again.",
    source="VOICEVOX/voicevox_engine#1859",
    fix="Take the file from a locked artifact by a row of the recipe, or leave it out.",
)
def unknown_origin(evidence: BundleEvidence) -> Iterator[Found]:
    """Every file comes from a locked artifact, the frozen environment or the engine."""
    promised = _promised(evidence)
    if not any("origin" in row for row in promised.values()):
        return
    artifacts = _rows(evidence.description.data, "artifacts")
    known = _OURS | {str(row.get("component")) for row in artifacts}
    unlocked = evidence.section("overrides").get("unlocked")
    taken = set(unlocked) if isinstance(unlocked, dict) else set()
    loose = {str(row.get("component")) for row in artifacts if str(row.get("name")) in taken}
    strange = [
        path
        for path, row in promised.items()
        if path in evidence.files
        and row.get("kind") != "directory"
        and not (isinstance(row.get("origin"), str) and row["origin"] in known)
    ]
    if strange:
        yield together(
            strange,
            "comes from no artifact, nor from the engine or its environment",
            "{n} files come from no artifact, nor from the engine or its environment",
        )
    for component in sorted(loose):
        paths = [path for path, row in promised.items() if row.get("origin") == component]
        if paths:
            words = f"comes from an artifact of {component} that the lock does not hold"
            many = f"{{n}} files come from an artifact of {component} that the lock does not hold"
            yield together(paths, words, many, severity="warning")


@rule(
    "unneeded-file",
    "warning",
    why="What nothing reads while the engine runs makes every download longer, and shows that a "
    "step of packaging was lost.",
    source="VOICEVOX/onnxruntime-builder#111",
    fix="Leave it out by the recipe's rows.",
)
def unneeded_file(evidence: BundleEvidence) -> Iterator[Found]:
    """Nothing is there that serves only building, debugging or another device."""
    device = evidence.target.device if evidence.target is not None else None
    inside = f"{evidence.contents}/" if evidence.contents else ""
    frozen = f"{inside}{_BASE_LIBRARY}" in evidence.files
    told: set[str] = set()
    for row in evidence.tables.bytes.content.unneeded:
        if row.device and device not in row.device:
            continue
        paths = [
            path
            for path, file in evidence.files.items()
            if file.kind != "directory" and path not in told and meant(path, row.names)
            and (row.collected or not (frozen and path.startswith(inside)))
        ]  # fmt: skip
        told.update(paths)
        if paths:
            yield together(
                paths,
                f"is not needed: {row.what}",
                f"{{n}} files are not needed: {row.what}",
                severity=row.severity,
            )


def _difference(file: FileFacts, row: Mapping[str, object]) -> str | None:
    """What is other than promised."""
    then, now = row.get("kind"), file.kind
    if file.link is not None and "link" in row:
        other = file.link != row["link"]
        return f"links to {file.link!r}, was built as a link to {row['link']!r}" if other else None
    if file.link is not None or "link" in row:
        return f"was a {then}, is a {now}"
    if str(file.sha256 or "") != (row.get("sha256") or ""):
        return "differs from what was built"
    return f"was a {then}, is a {now}" if then != now else None


def _promised(evidence: BundleEvidence) -> dict[str, Mapping[str, object]]:
    rows = evidence.section("files")
    return {path: row for path, row in rows.items() if isinstance(row, dict)}


def _rows(data: Mapping[str, object] | None, key: str) -> list[Mapping[str, object]]:
    rows = (data or {}).get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
