"""Where the loader of a system looks, for a library that lies at a place in a bundle.

Sources: ld.so(8); https://learn.microsoft.com/windows/win32/dlls/dynamic-link-library-search-order;
dyld(1).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from vvbuild.linking.linkage import Linkage
from vvbuild.model.loading import LoadingTable, matches


@dataclass(frozen=True)
class Layout:
    """The paths of a bundle, and what of them loaders go by.

    ``links`` leads from the path of a symbolic link to the file that it stands for.
    ``program`` is the executable's path, ``contents`` the folder of PyInstaller's internals (``""``
    for the flat layout), which its bootloader adds to the loader's search.
    """

    files: frozenset[str]
    links: Mapping[str, str]
    program: str
    contents: str
    program_search: tuple[str, ...] = ()

    def at(self, path: str, *, ignore_case: bool) -> str | None:
        """The file at a path, through a link."""
        wanted = self._lower.get(path.lower()) if ignore_case else path
        if wanted is None or wanted not in self.files:
            return None
        return self.links.get(wanted, wanted)

    def named(self, name: str, *, ignore_case: bool) -> tuple[str, ...]:
        """All files with that name, wherever they lie."""
        found = self._names.get(name.lower(), ())
        if not ignore_case:
            found = tuple(path for path in found if posixpath.basename(path) == name)
        return tuple(dict.fromkeys(self.links.get(path, path) for path in found))

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """Every directory that holds files, ``""`` for the root."""
        return tuple(sorted({posixpath.dirname(path) for path in self.files}))

    @cached_property
    def _lower(self) -> dict[str, str]:
        return {path.lower(): path for path in sorted(self.files, reverse=True)}

    @cached_property
    def _names(self) -> dict[str, tuple[str, ...]]:
        names: dict[str, tuple[str, ...]] = {}
        for path in sorted(self.files):
            name = posixpath.basename(path).lower()
            names[name] = (*names.get(name, ()), path)
        return names


def candidates(library: Linkage, name: str, layout: Layout, table: LoadingTable) -> Iterator[str]:
    """The paths in the bundle where a loader looks for ``name``, in its order."""
    if library.os == "linux":
        yield from _linux(library, name, layout)
    elif library.os == "win":
        yield from _windows(library, name, layout, table)
    else:
        yield from _macos(library, name, layout)


def _linux(library: Linkage, name: str, layout: Layout) -> Iterator[str]:
    if "/" in name:
        # Taken as a path, relative to whatever directory the process is in.
        return
    own = list(_expanded(library, "$ORIGIN", "${ORIGIN}"))
    # PyInstaller's bootloader sets LD_LIBRARY_PATH to its folder and starts itself again.
    around = [layout.contents]
    for folder in [*own, *around] if library.before else [*around, *own]:
        yield posixpath.join(folder, name)


def _windows(library: Linkage, name: str, layout: Layout, table: LoadingTable) -> Iterator[str]:
    # Loaded by a full path, a library's own folder counts; the bootloader's SetDllDirectory adds
    # its folder; the program's is looked into always.
    yield posixpath.join(posixpath.dirname(library.path), name)
    yield posixpath.join(posixpath.dirname(layout.program), name)
    yield posixpath.join(layout.contents, name)
    globs = [glob for row in table.folders if row.os == "win" for glob in row.names]
    for folder in layout.folders:
        if matches("win", posixpath.basename(folder), globs):
            yield posixpath.join(folder, name)


def _macos(library: Linkage, name: str, layout: Layout) -> Iterator[str]:
    here = posixpath.dirname(library.path)
    there = posixpath.dirname(layout.program)
    if name.startswith("@loader_path/"):
        yield _inside(here, name.removeprefix("@loader_path/"))
    elif name.startswith("@executable_path/"):
        yield _inside(there, name.removeprefix("@executable_path/"))
    elif name.startswith("@rpath/"):
        rest = name.removeprefix("@rpath/")
        for folder in _expanded(library, "@loader_path"):
            yield _inside(folder, rest)
        for entry in layout.program_search:
            if entry.startswith(("@loader_path", "@executable_path")):
                yield _inside(there, posixpath.join(entry.partition("/")[2], rest))


def _expanded(library: Linkage, *origins: str) -> Iterator[str]:
    """The folders that a file names by its own place; those elsewhere are not in the bundle."""
    here = posixpath.dirname(library.path)
    for entry in library.search:
        for origin in origins:
            if entry == origin or entry.startswith(f"{origin}/"):
                yield _inside(here, entry[len(origin) :].lstrip("/"))


def _inside(folder: str, rest: str) -> str:
    """A path below the bundle's root; one that leaves it begins with ``..`` and is never there."""
    path = posixpath.normpath(posixpath.join(folder, rest))
    return "" if path == "." else path
