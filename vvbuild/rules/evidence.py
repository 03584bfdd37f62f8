"""What rules over a bundle look at: the facts of its bytes, gathered by ``verify``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from vvbuild.binary.elf import ElfFacts
from vvbuild.binary.elf_symbols import ElfSymbols
from vvbuild.binary.gpu_code import GpuCode
from vvbuild.binary.macho import MachOFacts
from vvbuild.binary.pe import PeFacts
from vvbuild.linking.closure import Closure, close
from vvbuild.linking.linkage import Linkage, linkage_of
from vvbuild.linking.links import followed, leaves
from vvbuild.linking.search import Layout
from vvbuild.model.bootloader import HintTable
from vvbuild.model.bytes import BytesTables
from vvbuild.model.compat import Compat
from vvbuild.model.digest import Digest
from vvbuild.model.target import Os, Target
from vvbuild.model.tree import EntryKind
from vvbuild.rules.data import Document, ModelFacts, PackedFacts

Binary = ElfFacts | PeFacts | MachOFacts
_OSES: Mapping[type, Os] = {ElfFacts: "linux", PeFacts: "win", MachOFacts: "macos"}
# What PyInstaller puts into its folder of internals, whatever that is called.
_INTERNALS = "base_library.zip"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A member of a bundle; a ``directory`` is an empty one.

    ``mode`` are its permission bits where they are known (an archive made on Windows has none).
    ``head`` are its first bytes. ``binary`` are the headers of a program or library, or
    ``malformed`` says why they cannot be read; ``gpu`` is the machine code for GPUs in it.
    ``asks`` are names of libraries that it opens, found in its bytes. ``text`` is the digest of
    the program's machine code. ``exports`` are what it exports, with the value of 32-bit
    variables that matter, where that says what it is; ``symbols`` are all that it gives and asks
    for, of NVIDIA's libraries and those that call them; ``packed`` whether UPX packed it; ``stale``
    what is wrong with the hashes of its signature.
    """

    path: str
    kind: EntryKind
    size: int = 0
    sha256: Digest | None = None
    link: str | None = None
    mode: int | None = None
    head: bytes = b""
    binary: Binary | None = None
    malformed: str | None = None
    gpu: GpuCode | None = None
    asks: tuple[str, ...] = ()
    text: Digest | None = None
    exports: Mapping[str, int | None] | None = None
    symbols: ElfSymbols | None = None
    packed: bool = False
    stale: str | None = None

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    @property
    def elf(self) -> ElfFacts | None:
        """Its headers, if it is an ELF file."""
        return self.binary if isinstance(self.binary, ElfFacts) else None

    @property
    def pe(self) -> PeFacts | None:
        """Its headers, if it is a PE file."""
        return self.binary if isinstance(self.binary, PeFacts) else None

    @property
    def macho(self) -> MachOFacts | None:
        """Its headers, if it is a Mach-O file."""
        return self.binary if isinstance(self.binary, MachOFacts) else None

    @property
    def os(self) -> Os | None:
        """The operating system whose programs have its format."""
        return _OSES.get(type(self.binary))

    @property
    def machines(self) -> tuple[str, ...]:
        """The processors that it runs on."""
        if isinstance(self.binary, MachOFacts):
            return self.binary.machines
        return (self.binary.machine,) if self.binary is not None else ()


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A JSON file of a bundle: its object, or why it is none; both ``None`` when missing."""

    data: Mapping[str, object] | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that rules over bytes judge by."""

    bytes: BytesTables
    compat: Compat
    hints: HintTable


@dataclass(frozen=True)
class BundleEvidence:
    """The bytes of a bundle as facts.

    ``expected`` is what ``--expect`` says: component → version. ``documents`` are JSON files
    that rules look into, ``models`` what voice models say of themselves, both by path.
    ``modules`` are those of the tables' Python modules that are frozen into the program. ``top``
    is the folder that holds everything, where the bundle is not itself at the root of what was
    looked at; ``packed`` is its archive, if it came in one.
    """

    target: Target | None
    program: str
    files: Mapping[str, FileFacts]
    manifest: JsonFile
    description: JsonFile
    tables: Tables
    expected: Mapping[str, str] = field(default_factory=dict)
    documents: Mapping[str, Document] = field(default_factory=dict)
    models: Mapping[str, ModelFacts] = field(default_factory=dict)
    modules: frozenset[str] = frozenset()
    top: str = ""
    packed: PackedFacts | None = None

    def section(self, name: str) -> Mapping[str, object]:
        """A table of ``vvbuild.json``, empty where it is not there or no table."""
        value = (self.description.data or {}).get(name)
        return value if isinstance(value, dict) else {}

    def version(self, component: str) -> str | None:
        """The version of a component that ``vvbuild.json`` tells."""
        told = self.section("components").get(component)
        return told if isinstance(told, str) else None

    @property
    def os(self) -> Os | None:
        """The operating system that the bundle is for: its target's, else its program's."""
        if self.target is not None:
            return self.target.os
        program = self.files.get(self.program)
        return program.os if program is not None else None

    @property
    def arch(self) -> str | None:
        """The processor that the bundle is for: its target's, else its program's."""
        if self.target is not None:
            return self.target.arch
        program = self.files.get(self.program)
        machines = program.machines if program is not None else ()
        return machines[0] if machines else None

    def binaries(self) -> Iterator[FileFacts]:
        """The programs and libraries whose headers could be read, links left out."""
        return (file for file in self.files.values() if file.binary is not None)

    def libraries(self) -> Iterator[tuple[FileFacts, Linkage]]:
        """The same as loaders of the bundle's own system see them."""
        for path, linkage in self.closure.libraries.items():
            if linkage.os == self.os:
                yield self.files[path], linkage

    @cached_property
    def contents(self) -> str:
        """PyInstaller's folder of internals, ``""`` for the flat layout."""
        found = [path for path in self.files if path.rpartition("/")[2] == _INTERNALS]
        return min(found, key=len).rpartition("/")[0] if found else ""

    @cached_property
    def links(self) -> dict[str, str]:
        """Every symbolic link: path → what is written in it."""
        return {path: file.link for path, file in self.files.items() if file.link is not None}

    @cached_property
    def layout(self) -> Layout:
        """What loaders see of the bundle."""
        return Layout(
            frozenset(path for path, file in self.files.items() if file.kind != "directory"),
            dict(self._ends_of_links()),
            self.program,
            self.contents,
            self._program_search,
        )

    @cached_property
    def closure(self) -> Closure:
        """What every library needs, and what it gets."""
        linkages = (
            linkage_of(file.path, file.binary, arch=self.arch, asks=file.asks)
            for file in self.files.values()
            if file.binary is not None
        )
        return close(linkages, self.layout, self.tables.bytes.loading)

    @property
    def _program_search(self) -> tuple[str, ...]:
        program = self.files.get(self.program)
        if program is None or program.macho is None:
            return ()
        part = program.macho.slice_for(self.arch or "")
        return part.rpaths if part is not None else ()

    def _ends_of_links(self) -> Iterator[tuple[str, str]]:
        for path in self.links:
            end = followed(path, self.links)
            if end is not None and not leaves(end):
                yield path, end
