"""Gathering the facts of a bundle's bytes."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping, Set
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from vvbuild.binary.elf import is_elf
from vvbuild.binary.elf_sections import section_digest
from vvbuild.binary.gpu_code import read_gpu_code
from vvbuild.binary.identify import read_binary
from vvbuild.binary.upx import read_upx
from vvbuild.errors import BinaryMalformedError, UsageError
from vvbuild.fetch.store import walk
from vvbuild.manifest.bootloader import hint_table
from vvbuild.manifest.bytes import bytes_tables
from vvbuild.manifest.compat import compat_tables
from vvbuild.manifest.targets import program_name, target_table
from vvbuild.model.content import ContentTable
from vvbuild.model.digest import Digest
from vvbuild.model.target import Target
from vvbuild.model.tree import EntryKind
from vvbuild.rules.data import PackedFacts
from vvbuild.rules.evidence import BundleEvidence, FileFacts, JsonFile, Tables
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file
from vvbuild.verify.asked import asked_names
from vvbuild.verify.data import frozen_modules, read_document, read_documents, read_models
from vvbuild.verify.listing import Listed
from vvbuild.verify.told import stale_signature, told_exports, told_symbols

_PROGRAM = "run"
_MANIFEST = "engine_manifest.json"
_HEAD = 512
# Hashing leaves Python's lock, so a second thread keeps a second core busy.
_HASHERS = 2


def gather_facts(
    bundle: Path,
    target: Target | None,
    cancel: Cancel,
    *,
    members: Mapping[str, Listed] | None = None,
    expected: Mapping[str, str] | None = None,
    packed: PackedFacts | None = None,
    named: Target | None = None,
    digests: bool = True,
) -> BundleEvidence:
    """Read a bundle: every file's digest, the headers of its libraries, its data.

    ``bundle`` may hold it in one folder, as archives do. Without ``target``, the one that
    ``vvbuild.json`` names counts, else the one that its archive is called after (``named``).
    ``members`` are what an archive (``packed``) tells of modes and links, which the directory that
    it was unpacked into may not show. Without ``digests`` no file is read whole. Raises
    :class:`UsageError` for what no bundle can hold, such as a device or a socket.
    """
    top = _top(bundle)
    if top:
        bundle /= top
        inside = f"{top}/"
        members = members and {path.removeprefix(inside): row for path, row in members.items()}
    description = _read_json(bundle / "vvbuild.json")
    target = target or _target_of(description) or named
    try:
        found = list(walk(bundle))
    except ValueError as error:
        raise UsageError(f"{bundle} is not a bundle: {error}.") from error
    program = _program(target, {relative for _, relative, _ in found})
    with ThreadPoolExecutor(_HASHERS) as pool:
        try:
            hashes = _hashing(found if digests else (), pool, cancel)
            files = {
                relative: file_facts(
                    path, relative, kind, is_program=relative == program, cancel=cancel
                )
                for path, relative, kind in found
            }
            for relative, digest in hashes.items():
                files[relative] = replace(files[relative], sha256=digest.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    if members is not None:
        files = dict(_as_packed(files, members))
    manifest = _read_json(bundle / _MANIFEST)
    tables = Tables(bytes_tables(), compat_tables(), hint_table())
    content = tables.bytes.content
    return BundleEvidence(
        target,
        program,
        files,
        manifest,
        description,
        tables,
        dict(expected or {}),
        documents=read_documents(bundle, files, manifest.data or {}, content),
        models=read_models(bundle, files),
        modules=_modules(bundle / program, files.get(program), content),
        top=top,
        packed=packed,
    )


def _top(directory: Path) -> str:
    """The one folder that holds a whole bundle, ``""`` where the bundle lies there itself."""
    names = [path.name for path in directory.iterdir()]
    alone = len(names) == 1 and not (directory / names[0]).is_symlink()
    return names[0] if alone and (directory / names[0] / _MANIFEST).is_file() else ""


def _modules(program: Path, facts: FileFacts | None, content: ContentTable) -> frozenset[str]:
    if facts is None or facts.kind not in ("file", "program"):
        return frozenset()
    return frozen_modules(program, content.modules())


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


def file_facts(
    path: Path, relative: str, kind: EntryKind, *, is_program: bool, cancel: Cancel
) -> FileFacts:
    """Read one file; ``relative`` is its path in the bundle. Its digest is left out."""
    cancel.check()
    if kind == "directory":
        return FileFacts(relative, kind)
    if kind == "link":
        return FileFacts(relative, kind, link=path.readlink().as_posix())
    facts = path.stat()
    mode = stat.S_IMODE(facts.st_mode)
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    plain = FileFacts(relative, kind, facts.st_size, mode=mode, head=head)
    try:
        binary = read_binary(path)
        if binary is None:
            return plain
        return replace(
            plain,
            binary=binary,
            gpu=read_gpu_code(path),
            asks=asked_names(path, bytes_tables().loading),
            text=section_digest(path, ".text") if is_program and is_elf(path) else None,
            exports=told_exports(path, binary, is_program=is_program),
            symbols=told_symbols(path, binary),
            packed=read_upx(path) is not None,
            stale=stale_signature(path, binary),
        )
    except BinaryMalformedError as error:
        return replace(plain, malformed=error.message)


def _as_packed(
    files: Mapping[str, FileFacts], members: Mapping[str, Listed]
) -> Iterator[tuple[str, FileFacts]]:
    """Modes and links as the archive has them; its links were not unpacked."""
    links = {path: row for path, row in members.items() if row.link is not None}
    for path, file in files.items():
        inside = f"{path}/"
        if file.kind == "directory" and any(each.startswith(inside) for each in links):
            continue
        row = members.get(path)
        yield path, replace(file, mode=row.mode if row is not None else None)
    for path, row in links.items():
        yield path, FileFacts(path, "link", link=row.link, mode=row.mode)


def _read_json(path: Path) -> JsonFile:
    if not path.is_symlink() and not path.exists():
        return JsonFile()
    document = read_document(path)
    if isinstance(document.value, dict):
        return JsonFile(document.value)
    return JsonFile(problem=document.problem or "is not a JSON object")


def _target_of(description: JsonFile) -> Target | None:
    try:
        return Target.parse(str((description.data or {}).get("target")))
    except ValueError:
        return None
