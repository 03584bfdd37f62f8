"""Gathering the facts of a bundle's bytes."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping, Set
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import msgspec

from vvbuild.binary.elf import is_elf
from vvbuild.binary.elf_sections import section_digest
from vvbuild.binary.gpu_code import read_gpu_code
from vvbuild.binary.identify import read_binary
from vvbuild.errors import BinaryMalformedError, UsageError
from vvbuild.fetch.store import walk
from vvbuild.manifest.bytes import bytes_tables
from vvbuild.manifest.compat import compat_tables
from vvbuild.manifest.targets import program_name, target_table
from vvbuild.model.digest import Digest
from vvbuild.model.target import Target
from vvbuild.model.tree import EntryKind
from vvbuild.rules.evidence import BundleEvidence, FileFacts, JsonFile, Tables
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file
from vvbuild.verify.asked import asked_names

_PROGRAM = "run"
_MOST_JSON_BYTES = 64 << 20
_HEAD = 512
# Hashing leaves Python's lock, so a second thread keeps a second core busy.
_HASHERS = 2


def gather_facts(
    bundle: Path,
    target: Target | None,
    cancel: Cancel,
    *,
    modes: Mapping[str, int] | None = None,
    expected: Mapping[str, str] | None = None,
) -> BundleEvidence:
    """Read a bundle: every file's digest, the headers of its libraries, its two JSON files.

    Without ``target``, the one that ``vvbuild.json`` names counts, if it names one. ``modes`` are
    those that an archive tells, which the directory that it was unpacked into may not show.
    Raises :class:`UsageError` for what no bundle can hold, such as a device or a socket.
    """
    description = _read_json(bundle / "vvbuild.json")
    target = target or _target_of(description)
    try:
        members = list(walk(bundle))
    except ValueError as error:
        raise UsageError(f"{bundle} is not a bundle: {error}.") from error
    program = _program(target, {relative for _, relative, _ in members})
    with ThreadPoolExecutor(_HASHERS) as pool:
        try:
            digests = _hashing(members, pool, cancel)
            files = {
                relative: _file_facts(path, relative, kind, relative == program, modes, cancel)
                for path, relative, kind in members
            }
            for relative, digest in digests.items():
                files[relative] = replace(files[relative], sha256=digest.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    manifest = _read_json(bundle / "engine_manifest.json")
    tables = Tables(bytes_tables(), compat_tables())
    return BundleEvidence(
        target, program, files, manifest, description, tables, dict(expected or {})
    )


def _program(target: Target | None, paths: Set[str]) -> str:
    """The name of the program; without a target, of one that is there."""
    if target is not None:
        return program_name(_PROGRAM, target.platform)
    names = [_PROGRAM + row.program_suffix for row in target_table().os.values()]
    return next((name for name in names if name in paths), _PROGRAM)


def _hashing(
    members: Iterable[tuple[Path, str, EntryKind]], pool: ThreadPoolExecutor, cancel: Cancel
) -> dict[str, Future[Digest]]:
    """The digests of all files, the biggest first, so that no thread ends with one alone."""
    files = [(path, relative) for path, relative, kind in members if kind in ("file", "program")]
    files.sort(key=lambda each: -each[0].stat().st_size)
    return {relative: pool.submit(hash_file, path, cancel) for path, relative in files}


def _file_facts(
    path: Path,
    relative: str,
    kind: EntryKind,
    is_program: bool,
    modes: Mapping[str, int] | None,
    cancel: Cancel,
) -> FileFacts:
    cancel.check()
    if kind == "directory":
        return FileFacts(relative, kind)
    if kind == "link":
        return FileFacts(relative, kind, link=path.readlink().as_posix())
    facts = path.stat()
    mode = stat.S_IMODE(facts.st_mode) if modes is None else modes.get(relative)
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    plain = FileFacts(relative, kind, facts.st_size, mode=mode, head=head)
    try:
        binary = read_binary(path)
        if binary is None:
            return plain
        text = section_digest(path, ".text") if is_program and is_elf(path) else None
        asks = asked_names(path, bytes_tables().loading)
        return replace(plain, binary=binary, gpu=read_gpu_code(path), asks=asks, text=text)
    except BinaryMalformedError as error:
        return replace(plain, malformed=error.message)


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
