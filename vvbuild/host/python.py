"""The interpreter that an engine is frozen with, and its identity.

Freezing swallows the interpreter: its libpython, its standard library, and the host's
libraries that its extension modules load. Their bytes are an input of every bundle.
"""

from __future__ import annotations

import ctypes.util
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from vvbuild.errors import PythonMissingError
from vvbuild.model.digest import Digest
from vvbuild.runtime.files import hash_file, write_atomically
from vvbuild.runtime.process import clean_environment

# Read in the interpreter itself: only it knows where its parts lie.
_QUERY = """
import json, os, sys, sysconfig
v = sysconfig.get_config_var
print(json.dumps({
    "version": "%d.%d.%d" % sys.version_info[:3],
    "build": sys.version,
    "executable": os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable),
    "prefix": sys.base_prefix,
    "stdlib": sysconfig.get_path("stdlib"),
    "platstdlib": os.path.join(sysconfig.get_path("platstdlib"), "lib-dynload"),
    "libraries": [v("INSTSONAME") or "", v("LDLIBRARY") or ""],
    "libdirs": [v("LIBDIR") or "", v("LIBPL") or "", sys.base_prefix],
}))
"""
# Folders of the standard library that no frozen program takes from.
_SKIPPED = {
    "__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "ensurepip",
    "lib2to3", "turtledemo",
}  # fmt: skip
# Extension modules of engines load these beside what Python's own modules load.
_RUNTIME_LIBRARIES = ("libgcc_s.so.1", "libstdc++.so.6", "libc.so.6")


@dataclass(frozen=True, slots=True)
class PythonFacts:
    """An interpreter: where it is, which version, and its shared library if it has one."""

    executable: Path
    version: str
    build: str
    stdlib: Path
    dynload: Path
    shared_library: Path | None

    @property
    def series(self) -> str:
        """``3.11`` of ``3.11.7``."""
        return ".".join(self.version.split(".")[:2])


def query_python(executable: Path) -> PythonFacts:
    """Ask an interpreter what it is. Raises :class:`PythonMissingError`."""
    try:
        done = subprocess.run(
            [executable, "-I", "-S", "-c", _QUERY],
            capture_output=True, timeout=30, check=True, env=clean_environment(),
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        facts = json.loads(done.stdout)
        return PythonFacts(
            executable=Path(facts["executable"]),
            version=facts["version"],
            build=facts["build"],
            stdlib=Path(facts["stdlib"]),
            dynload=Path(facts["platstdlib"]),
            shared_library=_shared_library(facts["libraries"], facts["libdirs"]),
        )
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise PythonMissingError(
            f"{executable} is not a Python that answers.",
            context={"reason": error},
            hint="Name another one with --python.",
        ) from error


def find_python(requires: str, chosen: Path | None = None) -> PythonFacts:
    """The chosen interpreter, the one that runs vvbuild, or the newest on PATH that fits.

    Raises :class:`PythonMissingError` where none satisfies ``requires`` (a specifier).
    """
    from packaging.specifiers import SpecifierSet

    allowed = SpecifierSet(requires)
    seen = []
    for candidate in [chosen] if chosen else _candidates():
        try:
            facts = query_python(candidate)
        except PythonMissingError:
            if chosen:
                raise
            continue
        if allowed.contains(facts.version):
            return facts
        seen.append(f"{facts.version} ({candidate})")
    raise PythonMissingError(
        f"The release needs Python {requires}; "
        + (f"found {', '.join(seen)}." if seen else "found none."),
        hint="Install such a Python, or name one with --python.",
    )


def _candidates() -> Iterator[Path]:
    running = getattr(sys, "_base_executable", None) or sys.executable
    yield Path(running)
    for minor in range(14, 9, -1):
        found = shutil.which(f"python3.{minor}")
        if found:
            yield Path(found)


def _shared_library(names: Iterable[str], directories: Iterable[str]) -> Path | None:
    shared = [name for name in names if re.search(r"\.(so|dylib)\b|\.dll$", name)]
    for name in shared:
        for directory in directories:
            path = Path(directory, name)
            if directory and path.is_file():
                return path.resolve()
    for name in shared:
        stem = re.sub(r"^lib|\.(so|dylib).*$", "", name)
        if ctypes.util.find_library(stem):
            return next((path for path in _host_libraries([name])), None)
    return None


def _host_libraries(names: Iterable[str]) -> Iterator[Path]:
    """Where the system's loader finds libraries by name (Linux)."""
    ldconfig = shutil.which("ldconfig") or "/sbin/ldconfig"
    try:
        listing = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=False)
    except OSError:
        return
    known: dict[str, str] = {}
    for line in listing.stdout.splitlines():
        name, _, path = line.strip().partition(" => ")
        known.setdefault(name.split(" ")[0], path)
    for name in names:
        if name in known:
            yield Path(known[name]).resolve()


# Identity


def python_identity(facts: PythonFacts, cache: Path) -> Digest:
    """Digest of every byte of the interpreter that a frozen program may contain.

    Reading it all takes seconds; ``cache`` is a directory that remembers the digest together
    with each file's size, time and inode.
    """
    key = Digest.of_json([str(facts.executable), str(facts.stdlib), facts.build])
    memory = cache / f"{key.hex}.json"
    known = _recall(memory)
    if known is not None:
        return known
    files = set(_identity_files(facts))
    digest = hashlib.sha256(facts.build.encode())
    for line in sorted(f"{_portable(path, facts)}\0{hash_file(path)}\n" for path in files):
        digest.update(line.encode())
    result = Digest(digest.hexdigest())
    stamps = {str(path): _stamp(path) for path in files}
    write_atomically(memory, json.dumps({"digest": result.hex, "files": stamps}).encode())
    return result


def _recall(memory: Path) -> Digest | None:
    try:
        known = json.loads(memory.read_bytes())
        unchanged = all(_stamp(Path(path)) == stamp for path, stamp in known["files"].items())
        return Digest(known["digest"]) if unchanged else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _stamp(path: Path) -> list[int]:
    facts = path.stat()
    return [facts.st_size, facts.st_mtime_ns, facts.st_ino]


def _portable(path: Path, facts: PythonFacts) -> str:
    """A file's name without where it is installed, so that equal Pythons are equal."""
    for root in (facts.dynload, facts.stdlib):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.name


def _identity_files(facts: PythonFacts) -> Iterator[Path]:
    yield facts.executable
    if facts.shared_library is not None:
        yield facts.shared_library
    for directory, folders, files in os.walk(facts.stdlib):
        folders[:] = sorted(set(folders) - _SKIPPED)
        for name in files:
            if name.endswith((".py", ".so", ".pyd", ".dll")):
                yield Path(directory, name).resolve()
    licence = facts.stdlib / "LICENSE.txt"
    if licence.is_file():
        yield licence.resolve()
    if sys.platform == "win32":
        for folder in (facts.executable.parent, facts.executable.parent / "DLLs"):
            yield from (path.resolve() for path in folder.glob("*.dll"))
            yield from (path.resolve() for path in folder.glob("*.pyd"))
    if sys.platform == "linux":
        yield from _loaded_by(sorted(facts.dynload.glob("*.so")))
        yield from _host_libraries(_RUNTIME_LIBRARIES)


def _loaded_by(modules: list[Path]) -> Iterator[Path]:
    """What the loader takes for these modules, by ldd, which PyInstaller asks as well."""
    ldd = shutil.which("ldd")
    if ldd is None or not modules:
        return
    done = subprocess.run(
        [ldd, *modules], capture_output=True, text=True, check=False, env=clean_environment()
    )
    for match in re.finditer(r"=> (/\S.*?) \(0x", done.stdout):
        yield Path(match.group(1)).resolve()
