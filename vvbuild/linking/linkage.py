"""What a file asks its loader for, whatever its format."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from vvbuild.binary.elf import ElfFacts
from vvbuild.binary.macho import MachOFacts, MachOSlice
from vvbuild.binary.pe import PeFacts
from vvbuild.model.target import Os

# `load`: the loader refuses the file without it. `versions`: only symbol versions name it, as in
# wheels whose NEEDED was stripped; it must come from elsewhere. `delay`: looked for at the first
# call. `weak`: may be missing. `opened`: the file opens it by name (a row of loading.toml).
How = Literal["load", "versions", "delay", "weak", "opened"]
Binary = ElfFacts | PeFacts | MachOFacts


@dataclass(frozen=True, slots=True)
class Need:
    """A library that is asked for by ``name``; ``source`` tells where that is not in the file."""

    name: str
    how: How
    source: str = ""

    @property
    def hard(self) -> bool:
        """Whether the file cannot be loaded without it."""
        return self.how in ("load", "versions")


@dataclass(frozen=True, slots=True)
class Linkage:
    """A program or library of a bundle, as loaders see it.

    ``name`` is what others ask for: SONAME, install name or file name. ``search`` are the
    directories that the file itself names, as written there; ``before`` of them count before the
    environment's (ELF's RPATH).
    """

    path: str
    os: Os
    arch: str
    name: str
    needs: tuple[Need, ...]
    search: tuple[str, ...] = ()
    before: bool = False


def linkage_of(
    path: str, binary: Binary, *, arch: str | None = None, asks: Sequence[str] = ()
) -> Linkage:
    """What a file of a bundle asks for; ``asks`` are names that its bytes show it to open.

    Of a file for several processors the part for ``arch`` counts, else the first.
    """
    if isinstance(binary, ElfFacts):
        found = _of_elf(path, binary)
    elif isinstance(binary, PeFacts):
        found = _of_pe(path, binary)
    else:
        found = _of_macho(path, binary.slice_for(arch or "") or binary.slices[0])
    # Its own name is among its strings as well.
    opened = tuple(Need(name, "weak", "found in its bytes") for name in asks if name != found.name)
    return replace(found, needs=found.needs + opened)


def _of_elf(path: str, facts: ElfFacts) -> Linkage:
    named = dict.fromkeys(need.library for need in facts.version_needs)
    needs = [Need(name, "load") for name in facts.needed]
    needs += [Need(name, "versions") for name in named if name not in facts.needed]
    return Linkage(
        path,
        "linux",
        facts.machine,
        facts.soname or posixpath.basename(path),
        tuple(needs),
        facts.runpath or facts.rpath,
        before=bool(facts.rpath) and not facts.runpath,
    )


def _of_pe(path: str, facts: PeFacts) -> Linkage:
    needs = [Need(each.dll, "load") for each in facts.imports]
    needs += [Need(each.dll, "delay") for each in facts.delay_imports]
    return Linkage(path, "win", facts.machine, posixpath.basename(path), tuple(needs))


def _of_macho(path: str, part: MachOSlice) -> Linkage:
    needs = [
        Need(each.name, "weak" if each.kind == "weak" else "load") for each in part.dependencies
    ]
    name = posixpath.basename(part.install_name or path)
    return Linkage(path, "macos", part.machine, name, tuple(needs), part.rpaths)
