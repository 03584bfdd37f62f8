"""Rules over a bundle: the data without which the engine, or a part of it, does not work."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from vvbuild.model.content import CharactersRow, DataRow, meant
from vvbuild.rules.bundle.models import models_of
from vvbuild.rules.bundle.wording import listed, together
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_ENGINE = "VOICEVOX/voicevox_engine"
_METAS, _FILEMAP = "metas.json", "filemap.json"
# What the engine serves by a digest: the defaults of its generate_filemap.py.
_SERVED = (".png", ".wav")


@rule(
    "metas-stray",
    "error",
    why="Where the engine finds metas.json beside the program, it looks for a core from before "
    "0.12 by its old name, and says that there is no core.",
    source=f"{_ENGINE}, voicevox_engine/core/core_wrapper.py",
    fix="Remove metas.json from the bundle's root; the characters' own are elsewhere.",
)
def metas_stray(evidence: BundleEvidence) -> Iterator[Found]:
    """metas.json lies in the bundle's root only beside a core that needs it."""
    if _METAS not in evidence.files:
        return
    old = [each for row in evidence.tables.bytes.content.old_core for each in row.names]
    if not any(meant(path, old) for path in evidence.files if "/" not in path):
        yield Found("lies beside the program, where only cores before 0.12 have one", _METAS)


@rule(
    "filemap-missing",
    "error",
    why="A frozen engine does not make the map of its characters' files: without it, it stops at "
    "the start, and a file that the map lacks ends a request with an error.",
    source=f"{_ENGINE}, voicevox_engine/resource_manager.py",
    fix="Run the engine's tools/generate_filemap.py over the folder after the last change to it.",
)
def filemap_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """The map of the characters' files is there, and tells their digests."""
    row = _characters_row(evidence)
    if row is None or not row.filemap:
        return
    path = f"{row.folder}/{_FILEMAP}"
    if path not in evidence.files:
        yield Found("is missing", path)
        return
    named = _filemap(evidence, row)
    if named is None:
        document = evidence.documents.get(path)
        if document is not None:
            yield Found(document.problem or "is no object of names and digests", path)
        return
    below = [each for each in evidence.files if each.startswith(f"{row.folder}/")]
    lacking = [each for each in below if each.endswith(_SERVED) and each not in named]
    other = [
        each
        for each in below
        if each in named and named[each] != getattr(evidence.files[each].sha256, "hex", None)
    ]
    if lacking:
        yield Found(f"lacks {len(lacking)} of the files", path, {"files": listed(lacking)})
    if other:
        words = f"tells another digest of {len(other)} of the files"
        yield Found(words, path, {"files": listed(other)})


@rule(
    "character-missing",
    "error",
    why="The engine answers /speakers with an error if it has no folder for one of the characters "
    "in the voice models, and /speaker_info if a file in it is missing.",
    source=f"{_ENGINE}, voicevox_engine/metas/metas_store.py",
    fix="Take the resource of the release that the voice models belong to.",
)
def character_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """Every character of the voice models has its folder with all files of its styles."""
    row = _characters_row(evidence)
    if row is None:
        return
    lost: list[str] = []
    for uuid, styles in _characters(evidence).items():
        folder = f"{row.folder}/{uuid}"
        if not any(path.startswith(f"{folder}/") for path in evidence.files):
            lost.append(folder)
            continue
        ids = sorted(number for number, kind in styles if kind in row.style_types)
        wanted = [*row.files, *(each.replace("{id}", str(number)) for number in ids
                                for each in row.style_files)]  # fmt: skip
        missing = [each for each in wanted if f"{folder}/{each}" not in evidence.files]
        if missing:
            yield Found(f"lacks {listed(missing)}", folder)
    if lost:
        yield together(lost, "is missing", "{n} characters of the voice models have no folder")
    gone = [path for path in _filemap(evidence, row) or () if path not in evidence.files]
    if gone:
        yield together(gone, "is in filemap.json, and missing",
                       "{n} files are in filemap.json, and missing")  # fmt: skip


@rule(
    "dictionary-missing",
    "error",
    why="Without its dictionary the engine tries to download one at the start, or fails at the "
    "first text in Japanese; a test in English does not notice.",
    source="jamiepine/voicebox#922",
    fix="Collect the package's data files in the spec: `collect_data_files(…)`.",
)
def dictionary_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """A frozen text package has its dictionary."""
    yield from _data_missing(evidence, dictionary=True)


@rule(
    "package-data-missing",
    "error",
    why="PyInstaller collects a package's code by itself, but its data only where the spec or a "
    "hook says so; the package fails when it opens them.",
    source=f"{_ENGINE}@45245814",
    fix="Collect the package's data files in the spec: `collect_data_files(…)`.",
)
def package_data_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """A frozen package has the files that it opens."""
    yield from _data_missing(evidence, dictionary=False)


@rule(
    "zero-byte-data",
    "error",
    why="An empty sample or picture was in a release for months: nothing opens it until a user "
    "does.",
    source="VOICEVOX/voicevox#2753",
    fix="Mend the file where it comes from, and build again.",
)
def zero_byte_data(evidence: BundleEvidence) -> Iterator[Found]:
    """No file is empty but those that may be, and pictures and sounds begin as such."""
    table = evidence.tables.bytes.content
    groups: dict[str, list[str]] = {}
    # The program and the models have rules of their own.
    own = {evidence.program, *models_of(evidence)}
    for path, file in evidence.files.items():
        if file.kind not in ("file", "program"):
            continue
        if file.size == 0:
            if path not in own and not meant(path, table.may_be_empty):
                groups.setdefault("is empty", []).append(path)
            continue
        row = next((row for row in table.beginning if meant(path, row.names)), None)
        if row is None or not file.head:
            continue
        if not file.head.startswith(tuple(map(bytes.fromhex, row.begins))):
            groups.setdefault(f"does not begin as {row.what} does", []).append(path)
        elif file.size < row.least:
            groups.setdefault(f"holds nothing but the beginning of {row.what}", []).append(path)
    for words, paths in groups.items():
        yield together(paths, words, f"{{n}} files: each {words}")


def _data_missing(evidence: BundleEvidence, *, dictionary: bool) -> Iterator[Found]:
    for row in evidence.tables.bytes.content.data:
        if row.module in evidence.modules and row.dictionary == dictionary:
            missing = [each for each in _wanted(row, evidence) if not _is_there(each, evidence)]
            if missing:
                yield Found(
                    f"{row.module} is frozen without {row.what}",
                    missing[0],
                    {"missing": listed(missing)},
                )


def _wanted(row: DataRow, evidence: BundleEvidence) -> list[str]:
    if row.os and evidence.os not in row.os:
        return []
    inside = f"{evidence.contents}/" if evidence.contents else ""
    return [each.replace("{contents}/", inside) for each in row.files]


def _is_there(glob: str, evidence: BundleEvidence) -> bool:
    return any(file.size and meant(path, [glob]) for path, file in evidence.files.items())


def _characters_row(evidence: BundleEvidence) -> CharactersRow | None:
    """What this engine demands of its characters: the first row that is about it."""
    for row in evidence.tables.bytes.content.characters:
        frozen = row.module is None or row.module in evidence.modules
        if frozen and any(path.startswith(f"{row.folder}/") for path in evidence.files):
            return row
    return None


def _characters(evidence: BundleEvidence) -> dict[str, set[tuple[int, str]]]:
    """Character's uuid → numbers and types of its styles, in all voice models."""
    found: dict[str, set[tuple[int, str]]] = {}
    for facts in evidence.models.values():
        for uuid, styles in (facts.characters or {}).items():
            found.setdefault(uuid, set()).update((each.id, each.type) for each in styles)
    return found


def _filemap(evidence: BundleEvidence, row: CharactersRow) -> Mapping[str, str] | None:
    """Path in the bundle → digest, as filemap.json tells; ``None`` if it tells nothing."""
    document = evidence.documents.get(f"{row.folder}/{_FILEMAP}")
    value = document.value if document is not None else None
    if not isinstance(value, dict):
        return None
    return {posixpath.normpath(f"{row.folder}/{name}"): str(told) for name, told in value.items()}
