"""Rules over a bundle: what vvbuild.json promises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_ENGINE = "VOICEVOX/voicevox_engine"


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
        yield Found(evidence.description.problem or "is missing", "vvbuild.json")


@rule(
    "content-differs",
    "error",
    why="A file whose bytes are not those that were built was damaged or replaced.",
    source="RyderAsKing/PiChamber#157",
    fix="Unpack the archive again, or build again.",
)
def content_differs(evidence: BundleEvidence) -> Iterator[Found]:
    """Every file has the bytes, kind and link that vvbuild.json promises."""
    for path, row in _promised(evidence).items():
        file = evidence.files.get(path)
        if file is None:
            continue
        actual = file.link if file.kind == "link" else str(file.sha256 or "")
        promised = row.get("link") or row.get("sha256") or ""
        if (actual or "") != promised:
            yield Found("differs from what was built", path)
        elif file.kind != row.get("kind"):
            yield Found(f"was a {row.get('kind')}, is a {file.kind}", path)


@rule(
    "file-missing",
    "error",
    why="A file that was built and is not there fails when it is needed, not at the start.",
    source=f"{_ENGINE}#408",
    fix="Unpack the archive again, or build again.",
)
def file_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """Everything that vvbuild.json lists is there."""
    for path in _promised(evidence):
        if path not in evidence.files:
            yield Found("is missing", path)


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
    if not promised:
        return
    for path, file in evidence.files.items():
        if path not in promised and path != "vvbuild.json" and file.kind != "directory":
            yield Found("was not built by this release", path)


def _promised(evidence: BundleEvidence) -> dict[str, Mapping[str, object]]:
    rows = evidence.section("files")
    return {path: row for path, row in rows.items() if isinstance(row, dict)}
