"""Gathering the facts of a bundle's bytes."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec

from vvbuild.binary.elf import is_elf, read_elf, section_digest
from vvbuild.errors import BinaryMalformedError, UsageError
from vvbuild.fetch.store import walk
from vvbuild.manifest.targets import program_name
from vvbuild.model.target import Target
from vvbuild.model.tree import EntryKind
from vvbuild.rules.evidence import BundleEvidence, FileFacts, JsonFile
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file

_PROGRAM = "run"
_MOST_JSON_BYTES = 64 << 20


def gather_facts(bundle: Path, target: Target | None, cancel: Cancel) -> BundleEvidence:
    """Read a bundle: every file's digest, the headers of its libraries, its two JSON files.

    Without ``target``, the one that ``vvbuild.json`` names counts, if it names one.
    Raises :class:`UsageError` for what no bundle can hold, such as a device or a socket.
    """
    description = _read_json(bundle / "vvbuild.json")
    target = target or _target_of(description)
    program = program_name(_PROGRAM, target.platform) if target else _PROGRAM
    files = {}
    try:
        for path, relative, kind in walk(bundle):
            files[relative] = _file_facts(path, relative, kind, relative == program, cancel)
    except ValueError as error:
        raise UsageError(f"{bundle} is not a bundle: {error}.") from error
    manifest = _read_json(bundle / "engine_manifest.json")
    return BundleEvidence(target, program, files, manifest, description)


def _file_facts(
    path: Path, relative: str, kind: EntryKind, is_program: bool, cancel: Cancel
) -> FileFacts:
    cancel.check()
    if kind == "directory":
        return FileFacts(relative, kind)
    if kind == "link":
        return FileFacts(relative, kind, link=path.readlink().as_posix())
    elf = text = None
    if is_elf(path):
        try:
            elf = read_elf(path)
            text = section_digest(path, ".text") if is_program else None
        except BinaryMalformedError:
            elf = text = None
    size = path.stat().st_size
    return FileFacts(relative, kind, size, hash_file(path, cancel), elf=elf, text=text)


def _read_json(path: Path) -> JsonFile:
    try:
        facts = path.lstat()
        # Not through a link: a hostile bundle's may lead to a device that never ends.
        if not stat.S_ISREG(facts.st_mode):
            return JsonFile(problem="is not a file")
        if facts.st_size > _MOST_JSON_BYTES:
            return JsonFile(problem=f"is larger than {_MOST_JSON_BYTES >> 20} MiB")
        data = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        return JsonFile()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return JsonFile(problem=f"is not JSON: {error}")
    if not isinstance(data, dict):
        return JsonFile(problem="is not a JSON object")
    return JsonFile(data)


def _target_of(description: JsonFile) -> Target | None:
    try:
        return Target.parse(str((description.data or {}).get("target")))
    except ValueError:
        return None
