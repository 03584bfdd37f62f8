"""What PyInstaller collected, from its own lists, and where each file came from."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from vvbuild.errors import FreezeError
from vvbuild.model.digest import Digest
from vvbuild.runtime.files import hash_file

# Present in every frozen program, in the folder that holds all collected files.
_BASE_LIBRARY = "base_library.zip"
# A Python that was installed here shares the folder with the whole system.
_SYSTEM_PREFIXES = frozenset({Path("/"), Path("/usr"), Path("/usr/local")})


@dataclass(frozen=True, slots=True)
class Collected:
    """An entry of PyInstaller's list: name in the bundle, source, and PyInstaller's type."""

    name: str
    source: Path
    kind: str


@dataclass(frozen=True, slots=True)
class HostFile:
    """A file of the host's, neither the engine's nor its packages' nor Python's, in the bundle.

    ``path`` is relative to the bundle, with slashes; ``source`` is where it really lies on the
    host; ``sha256`` is that of the file in the bundle.
    """

    path: str
    source: Path
    sha256: Digest


def read_collected(build: Path) -> tuple[Collected, ...]:
    """The entries of every ``COLLECT`` of a spec, from PyInstaller's work directory.

    Raises :class:`FreezeError` where there is none: the spec makes a single file, or an archive.
    """
    lists = sorted(build.rglob("COLLECT-*.toc"))
    if not lists:
        raise FreezeError(
            "The spec does not make a directory.",
            hint="End it with COLLECT(…): a bundle holds libraries beside the program.",
        )
    found = [
        entry for path in lists for entry in _entries(ast.literal_eval(path.read_text("utf-8")))
    ]
    return tuple(found)


def _entries(value: object) -> Iterator[Collected]:
    """Walk the literal: each version nests the triples ``(name, source, TYPE)`` differently."""
    if not isinstance(value, (tuple, list)):
        return
    if len(value) == 3 and all(isinstance(part, str) for part in value):
        name, source, kind = value
        yield Collected(name, Path(source), kind)
        return
    for part in value:
        yield from _entries(part)


def python_folders(prefix: Path, folders: Iterable[Path]) -> tuple[Path, ...]:
    """``folders`` and, unless the whole system lives there, ``prefix``: what is Python's alone."""
    own = () if prefix.resolve() in _SYSTEM_PREFIXES else (prefix,)
    return (*own, *folders)


def host_files(
    collected: Iterable[Collected], bundle: Path, ours: Sequence[Path]
) -> tuple[HostFile, ...]:
    """The collected files whose source lies in none of ``ours``, sorted by path."""
    roots = [root.resolve() for root in ours]
    inside = internal_folder(bundle)
    found = []
    for entry in collected:
        source = entry.source.resolve()
        placed = inside / entry.name
        if not placed.is_file() or placed.is_symlink():
            continue  # a link within the bundle, or the program itself
        if not any(source.is_relative_to(root) for root in roots):
            path = PurePosixPath(placed.relative_to(bundle)).as_posix()
            found.append(HostFile(path, source, hash_file(placed)))
    return tuple(sorted(set(found), key=lambda item: item.path))


def internal_folder(bundle: Path) -> Path:
    """Where PyInstaller put the collected files: ``contents_directory``, before 6.0 the root."""
    found = sorted(bundle.glob(_BASE_LIBRARY)) or sorted(bundle.glob(f"*/{_BASE_LIBRARY}"))
    if len(found) != 1:
        raise FreezeError(
            f"What PyInstaller left is no frozen program: {_BASE_LIBRARY} is missing.",
            context={"found": len(found), "python": sys.version.split()[0]},
        )
    return found[0].parent
