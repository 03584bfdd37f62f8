"""``inspect``: facts of a file, a tree or an archive, and what loaders will find there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from vvbuild.binary.archives.kinds import kind_of
from vvbuild.binary.elf_symbols import read_symbols
from vvbuild.binary.identify import identify
from vvbuild.binary.macho_symbols import read_macho_symbols
from vvbuild.binary.pe_exports import read_exports
from vvbuild.errors import BinaryMalformedError, HostileArchiveError
from vvbuild.linking.edge import Edge
from vvbuild.linking.search import Layout
from vvbuild.manifest.bootloader import hint_table
from vvbuild.manifest.bytes import bytes_tables
from vvbuild.manifest.compat import compat_tables
from vvbuild.model.target import Target
from vvbuild.rules.data import PackedFacts
from vvbuild.rules.evidence import BundleEvidence, FileFacts, JsonFile, Tables
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file
from vvbuild.verify.facts import file_facts, gather_facts
from vvbuild.verify.opened import FindSevenZip, opened


@dataclass(frozen=True, slots=True)
class Symbols:
    """What a program or library gives and asks for, by name."""

    exported: tuple[str, ...]
    undefined: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inspection:
    """What was looked at.

    ``root`` is where everything starts: the program, if there is one. ``edges`` are the needs of
    each library. ``symbols`` are known for a file that was looked at by itself.
    """

    path: Path
    kind: str
    files: Mapping[str, FileFacts]
    edges: tuple[Edge, ...]
    layout: Layout | None = None
    root: str | None = None
    target: Target | None = None
    packed: PackedFacts | None = None
    symbols: Symbols | None = None
    problem: str | None = None

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())

    def binaries(self) -> tuple[FileFacts, ...]:
        """Programs and libraries, and what should be one and cannot be read."""
        return tuple(
            file
            for _, file in sorted(self.files.items())
            if file.binary is not None or file.malformed is not None
        )


def inspect_path(
    path: Path, *, digests: bool, cancel: Cancel, seven_zip: FindSevenZip
) -> Inspection:
    """Look at a file, a directory or an archive.

    With ``digests`` every file is read whole. Raises :class:`UsageError` for a path that is none,
    and what unpacking raises for an archive that cannot be read.
    """
    if path.is_file() and (identify(path) is not None or not _is_archive(path)):
        return _file(path, digests=digests, cancel=cancel)
    with opened(path, cancel=cancel, seven_zip=seven_zip) as bundle:
        evidence = gather_facts(
            bundle.directory,
            None,
            cancel,
            members=bundle.members,
            packed=bundle.packed,
            named=bundle.named,
            digests=digests,
        )
    return _tree(path, evidence)


def _is_archive(path: Path) -> bool:
    if path.name.endswith((".vvppp", ".vvpp")):
        return True
    try:
        kind_of(path)
    except HostileArchiveError:
        return False
    return True


def _file(path: Path, *, digests: bool, cancel: Cancel) -> Inspection:
    facts = file_facts(path, path.name, "file", is_program=False, cancel=cancel)
    if digests:
        facts = replace(facts, sha256=hash_file(path, cancel))
    evidence = _alone(facts)
    return Inspection(
        path,
        "file",
        {facts.path: facts},
        evidence.closure.edges,
        root=facts.path,
        symbols=_symbols(path, facts),
        problem=facts.malformed,
    )


def _alone(facts: FileFacts) -> BundleEvidence:
    tables = Tables(bytes_tables(), compat_tables(), hint_table())
    return BundleEvidence(None, facts.path, {facts.path: facts}, JsonFile(), JsonFile(), tables)


def _symbols(path: Path, facts: FileFacts) -> Symbols | None:
    try:
        if facts.elf is not None:
            found = read_symbols(path)
            return Symbols(
                tuple(sorted(found.exported_names)), tuple(sorted(found.undefined_names))
            )
        if facts.pe is not None:
            exports = read_exports(path)
            asked = (f"{each.dll}!{name}" for each in facts.pe.imports for name in each.functions)
            return Symbols(exports.names if exports is not None else (), tuple(asked))
        if facts.macho is not None:
            parts = read_macho_symbols(path)
            return Symbols(
                tuple(sorted({name for part in parts for name in part.exported})),
                tuple(sorted({each.name for part in parts for each in part.undefined})),
            )
    except BinaryMalformedError:
        # The headers are good, the tables are not: then nothing is told of them.
        return None
    return None


def _tree(path: Path, evidence: BundleEvidence) -> Inspection:
    root = evidence.program if evidence.program in evidence.files else None
    kind = "directory" if evidence.packed is None else evidence.packed.kind
    return Inspection(
        path,
        kind,
        evidence.files,
        evidence.closure.edges,
        layout=evidence.layout,
        root=root,
        target=evidence.target,
        packed=evidence.packed,
    )
