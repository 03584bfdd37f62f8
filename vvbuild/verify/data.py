"""What a bundle's data says: JSON files, voice models, and which modules are frozen."""

from __future__ import annotations

import json
import posixpath
import re
import stat
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from vvbuild.model.content import ContentTable, meant
from vvbuild.rules.data import Document, ModelFacts, Style
from vvbuild.rules.evidence import FileFacts

_MOST_JSON_BYTES = 64 << 20
_MOST_MANIFEST_BYTES = 4 << 20
_CHUNK = 1 << 20
_MODELS = "model/"
_NAMED = ("update_infos", "dependency_licenses")
# How marshal writes a short text: with or without a reference, interned or not.
_TEXT = b"[zZ\xda\xfa]"
_ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    KeyError, OSError, OverflowError,
)  # fmt: skip


def read_document(path: Path) -> Document:
    """A JSON file's value; a link is not followed: it may lead to a device that never ends."""
    try:
        facts = path.lstat()
        if not stat.S_ISREG(facts.st_mode):
            return Document(problem="is not a file")
        if facts.st_size > _MOST_JSON_BYTES:
            return Document(problem=f"is larger than {_MOST_JSON_BYTES >> 20} MiB")
        return Document(msgspec.json.decode(path.read_bytes()))
    except FileNotFoundError:
        return Document(problem="is missing")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Document(problem=f"is not JSON: {error}")


def read_documents(
    bundle: Path, files: Iterable[str], manifest: Mapping[str, object], table: ContentTable
) -> dict[str, Document]:
    """The JSON files that rules look into: those that the manifest or the table names."""
    named = {posixpath.normpath(str(manifest[key])) for key in _NAMED if key in manifest}
    return {
        path: read_document(bundle / path)
        for path in files
        if path in named or meant(path, table.documents)
    }


def read_models(bundle: Path, files: Mapping[str, FileFacts]) -> dict[str, ModelFacts]:
    """What the voice models say of themselves."""
    return {
        path: read_model(bundle / path) if file.size else ModelFacts(problem="is empty")
        for path, file in files.items()
        if path.startswith(_MODELS) and path.endswith(".vvm") and file.kind in ("file", "program")
    }


def read_model(path: Path) -> ModelFacts:
    """The manifest and the characters of a ``.vvm``, a zip of which little is read."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _member(archive, "manifest.json")
            if not isinstance(manifest, dict):
                return ModelFacts(problem="has no manifest.json that is an object")
            number = manifest.get("vvm_format_version")
            if not isinstance(number, int) or isinstance(number, bool):
                return ModelFacts(problem="tells no vvm_format_version")
            metas = _member(archive, str(manifest.get("metas_filename", "metas.json")))
    except zipfile.BadZipFile:
        return ModelFacts(problem="is no voice model: it is not a zip")
    except KeyError as error:
        return ModelFacts(problem=f"is no voice model: {error.args[0] if error.args else error}")
    except _ZIP_ERRORS as error:
        return ModelFacts(problem=f"cannot be read: {error}")
    return ModelFacts(number, dict(_characters(metas)))


def frozen_modules(program: Path, wanted: Collection[str]) -> frozenset[str]:
    """Which of these modules PyInstaller put into a program.

    The list of what is in its archive stands there as Python's marshal writes texts.
    """
    # The longest first: marshal tells each one's length, so that no name is found in another.
    texts = {_marshalled(name): name for name in wanted}
    pattern = re.compile(_TEXT + b"(" + b"|".join(map(re.escape, texts)) + b")") if texts else None
    found: set[str] = set()
    overlap = max(map(len, texts), default=0)
    if pattern is None:
        return frozenset()
    with program.open("rb") as stream:
        rest = b""
        while chunk := stream.read(_CHUNK):
            found.update(texts[match[1]] for match in pattern.finditer(rest + chunk))
            rest = chunk[-overlap:]
    return frozenset(found)


def _marshalled(name: str) -> bytes:
    return bytes([len(name)]) + name.encode("ascii")


def _member(archive: zipfile.ZipFile, name: str) -> object:
    info = archive.getinfo(name)
    if info.file_size > _MOST_MANIFEST_BYTES:
        raise ValueError(f"{name} is larger than {_MOST_MANIFEST_BYTES >> 20} MiB")
    with archive.open(info) as stream:
        data = stream.read(_MOST_MANIFEST_BYTES + 1)
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError(f"{name} is nested too deep") from None


def _characters(metas: object) -> Iterator[tuple[str, tuple[Style, ...]]]:
    for row in metas if isinstance(metas, list) else []:
        if not isinstance(row, dict):
            continue
        uuid, styles = row.get("speaker_uuid"), row.get("styles")
        if isinstance(uuid, str) and isinstance(styles, list):
            known = [each for each in styles if isinstance(each, dict)]
            yield (
                uuid,
                tuple(
                    # A style without a type talks: core's metas.rs.
                    Style(each["id"], str(each.get("type", "talk")))
                    for each in known
                    if isinstance(each.get("id"), int)
                ),
            )
