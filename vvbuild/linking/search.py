"""Where the loader of a system looks, for a library that lies at a place in a bundle.

Sources: ld.so(8); https://learn.microsoft.com/windows/win32/dlls/dynamic-link-library-search-order;
dyld(1).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from vvbuild.linking.linkage import Linkage
from vvbuild.model.loading import LoadingTable, matches


@dataclass(frozen=True)
class Layout:
    """The paths of a bundle, and what of them loaders go by.

    ``links`` leads from the path of a symbolic link to the file or folder that it stands for.
    ``program`` is the executable's path, ``contents`` the folder of PyInstaller's internals (``""``
    for the flat layout), which its bootloader adds to the loader's search. ``program_search`` are
    the rpaths of a macOS program, which count for all that it loads.
    """

    files: frozenset[str]
    links: Mapping[str, str]
    program: str
    contents: str
    program_search: tuple[str, ...] = ()

    def at(self, path: str, *, ignore_case: bool) -> str | None:
        """The file at a path, through links."""
        if ignore_case:
            path = self._lower.get(path.lower(), path)
        elif path not in self.files:
            path = self._through_folders(path)
        if path not in self.files:
            return None
        return self.links.get(path, path)

    def named(self, name: str, *, ignore_case: bool) -> tuple[str, ...]:
        """All files with that name, wherever they lie."""
        found = self._names.get(name.lower(), ())
        if not ignore_case:
            found = tuple(path for path in found if posixpath.basename(path) == name)
        return tuple(dict.fromkeys(self.links.get(path, path) for path in found))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of every file, each once."""
        return tuple(sorted({posixpath.basename(path) for path in self.files}))

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """Every directory that holds files, ``""`` for the root."""
        return tuple(sorted({posixpath.dirname(path) for path in self.files}))

    def _through_folders(self, path: str) -> str:
        for end in (at for at, letter in enumerate(path) if letter == "/"):
            if (folder := self.links.get(path[:end])) is not None:
                return posixpath.join(folder, path[end + 1 :])
        return path

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


def handed_down(above: Linkage, library: Linkage, name: str, layout: Layout) -> Iterator[str]:
    """Where a loader looks for ``name`` as well, since ``above`` brought the library along."""
    here = posixpath.dirname(above.path)
    if library.os == "linux":
        # An RPATH counts for all that comes along, but for those who have a RUNPATH themselves.
        if above.before and "/" not in name and (library.before or not library.search):
            for folder in _origins(above):
                yield posixpath.join(folder, name)
    elif library.os == "macos":
        if name.startswith("@rpath/"):
            yield from _by_rpaths(above, name, layout)
    else:
        # The folder of what was loaded by its full path, for all that comes along.
        yield posixpath.join(here, name)


def _linux(library: Linkage, name: str, layout: Layout) -> Iterator[str]:
    if "/" in name:
        # Taken as a path, relative to whatever directory the process is in.
        return
    own = list(_origins(library))
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
    if name.startswith("@rpath/"):
        yield from _by_rpaths(library, name, layout)
        yield from _places(
            layout.program_search, name.removeprefix("@rpath/"), layout.program, layout.program
        )
    else:
        yield from _places([name], "", library.path, layout.program)


def _by_rpaths(library: Linkage, name: str, layout: Layout) -> Iterator[str]:
    return _places(library.search, name.removeprefix("@rpath/"), library.path, layout.program)


def _places(entries: Iterable[str], rest: str, loader: str, program: str) -> Iterator[str]:
    """What macOS makes of paths that begin with a word for a place; others are not the bundle's."""
    for entry in entries:
        word, _, below = entry.partition("/")
        if word in ("@loader_path", "@executable_path"):
            origin = loader if word == "@loader_path" else program
            yield _inside(posixpath.dirname(origin), posixpath.join(below, rest))


def _origins(library: Linkage) -> Iterator[str]:
    """The folders that a file for Linux names by its own place; others are not the bundle's."""
    here = posixpath.dirname(library.path)
    for entry in library.search:
        for origin in ("$ORIGIN", "${ORIGIN}"):
            if entry == origin or entry.startswith(f"{origin}/"):
                yield _inside(here, entry[len(origin) :].lstrip("/"))


def _inside(folder: str, rest: str) -> str:
    """A path below the bundle's root; one that leaves it begins with ``..`` and is never there."""
    path = posixpath.normpath(posixpath.join(folder, rest))
    return "" if path == "." else path
