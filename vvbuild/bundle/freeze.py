"""Freezing: PyInstaller with our bootloader, in a room of its own."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vvbuild.binary.elf import is_elf, section_digest
from vvbuild.bundle.collected import (
    Collected,
    HostFile,
    host_files,
    python_folders,
    read_collected,
)
from vvbuild.bundle.site_packages import normalise_modes
from vvbuild.bundle.venv import Venv, make_venv
from vvbuild.errors import BootloaderError, ExternalError, FreezeError, HostToolMissingError
from vvbuild.fetch.store import copy_file, link_or_copy, walk
from vvbuild.model.events import Emit, Note
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import remove_tree
from vvbuild.runtime.process import run

# What `pip` would write as the script `pyinstaller`. `python -m PyInstaller` would put the
# engine's folder first on the path, where a module of the engine can hide one of PyInstaller's.
_LAUNCHER = "import sys\nfrom PyInstaller.__main__ import run\nsys.exit(run())\n"
_PROBE = """
import json, os, sys, sysconfig
import PyInstaller
print(json.dumps({
    "version": PyInstaller.__version__,
    "platform": PyInstaller.PLATFORM,
    "package": os.path.dirname(PyInstaller.__file__),
    "prefix": sys.base_prefix,
    "folders": [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")],
}))
"""
# Compared between the bootloader and the program: machine code and constants. The file as a
# whole differs, since objcopy adds PyInstaller's archive as a section.
_SECTIONS = (".text", ".rodata")
_CHATTER = re.compile(r"\d+ (TRACE|DEBUG|INFO|DEPRECATION): ")
_MOST_LINES = 30


@dataclass(frozen=True, slots=True)
class FreezeReport:
    """What was frozen, by which PyInstaller, and which files of the host went in.

    ``programs`` are the names of the executables at the top of the bundle.
    """

    programs: tuple[str, ...]
    pyinstaller: str
    platform: str
    host_libraries: tuple[HostFile, ...]


@dataclass(frozen=True, slots=True)
class _PyInstaller:
    """The PyInstaller of the packages, and the folders that are its Python's own."""

    version: str
    platform: str
    package: Path
    python_folders: tuple[Path, ...]


def freeze(
    *,
    python: Path,
    site_packages: Path,
    engine: Path,
    spec: str,
    bootloader: Path,
    bootloader_version: str,
    bootloader_platform: str | None,
    work: Path,
    dest: Path,
    epoch: int,
    cancel: Cancel,
    emit: Emit,
) -> FreezeReport:
    """Run ``spec`` of ``engine`` with PyInstaller and move the frozen directory to ``dest``.

    ``site_packages`` (a tree that :func:`make_environment` made, with PyInstaller in it) and
    ``engine`` are only read: PyInstaller sees private copies below ``work``, and a home, a
    temporary folder and a cache there. ``bootloader`` must be of PyInstaller's very version, which
    ``bootloader_version`` tells; ``bootloader_platform`` is the folder that it was built for, if
    known. ``epoch`` in seconds. Modes in ``dest`` are 755 and 644 whatever the umask.

    Raises :class:`BootloaderError` if the versions differ, :class:`HostToolMissingError` if Python
    has no shared library, :class:`FreezeError` with PyInstaller's words for all else.
    """
    work.mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix="freeze-", dir=work)).resolve()
    try:
        venv = make_venv(python, room / "venv", cancel)
        _copy_tree(site_packages, venv.site_packages, link_or_copy)
        installed = _probe(venv, room, cancel)
        _require_same_version(installed, bootloader_version, bootloader_platform)
        _put_bootloader(bootloader, installed)
        _copy_tree(engine, room / "engine", _copy_writable)
        _run_pyinstaller(venv, room, spec, epoch, emit, cancel)
        frozen = _only_directory(room / "dist")
        collected = read_collected(room / "build")
        programs = _check_programs(collected, frozen, bootloader)
        ours = [room, *installed.python_folders]
        report = FreezeReport(
            programs=programs,
            pyinstaller=installed.version,
            platform=installed.platform,
            host_libraries=host_files(collected, frozen, ours),
        )
        normalise_modes(frozen)
        dest.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(frozen, dest)
        return report
    finally:
        remove_tree(room)


def _copy_tree(source: Path, dest: Path, copy: Callable[[Path, Path], None]) -> None:
    for path, relative, kind in walk(source):
        target = dest / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        if kind == "directory":
            target.mkdir(exist_ok=True)
        else:
            copy(path, target)


def _copy_writable(source: Path, dest: Path) -> None:
    """Copy what a spec may write to: never a link into a store."""
    if source.is_symlink():
        dest.symlink_to(source.readlink())
        return
    copy_file(source, dest)
    dest.chmod(0o755 if source.stat().st_mode & 0o111 else 0o644)


def _probe(venv: Venv, room: Path, cancel: Cancel) -> _PyInstaller:
    if not (venv.site_packages / "PyInstaller" / "__init__.py").is_file():
        raise FreezeError(
            "The engine's packages hold no PyInstaller.",
            hint="Add pyinstaller to the engine's requirements for building, and lock them again.",
        )
    command: list[str | Path] = [venv.python, "-I", "-B", "-c", _PROBE]
    result = run(command, cancel=cancel, cwd=room, timeout=120, error=FreezeError)
    facts = json.loads(result.output.splitlines()[-1])
    return _PyInstaller(
        version=facts["version"],
        platform=facts["platform"],
        package=Path(facts["package"]),
        python_folders=python_folders(Path(facts["prefix"]), map(Path, facts["folders"])),
    )


def _require_same_version(installed: _PyInstaller, version: str, platform: str | None) -> None:
    """A bootloader of another version freezes without a word and dies at the first start."""
    if installed.version != version or platform not in (None, installed.platform):
        raise BootloaderError(
            "The bootloader was built for another PyInstaller than the engine's packages hold.",
            context={
                "bootloader": f"{version} for {platform or 'an unknown platform'}",
                "PyInstaller": f"{installed.version} for {installed.platform}",
            },
            hint="Pin the pyinstaller component to the version in the engine's requirements.",
        )


def _put_bootloader(bootloader: Path, installed: _PyInstaller) -> None:
    """Replace PyInstaller's own by a rename: writing would go through the link into the store."""
    folder = installed.package / "bootloader" / installed.platform
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / f".{bootloader.name}.new"
    shutil.copyfile(bootloader, new)
    new.chmod(0o755)
    new.replace(folder / bootloader.name)


def _run_pyinstaller(
    venv: Venv, room: Path, spec: str, epoch: int, emit: Emit, cancel: Cancel
) -> None:
    launcher = room / "launcher" / "pyinstaller.py"
    launcher.parent.mkdir()
    launcher.write_text(_LAUNCHER, "utf-8")
    home, temporary = room / "home", room / "tmp"
    home.mkdir()
    temporary.mkdir()
    environment = {
        "SOURCE_DATE_EPOCH": str(epoch),
        "PYINSTALLER_CONFIG_DIR": str(room / "cache"),
        "PYTHONNOUSERSITE": "1",
        # Else compiled files would lie among the packages, where a spec may collect them.
        "PYTHONPYCACHEPREFIX": str(room / "pycache"),
        **dict.fromkeys(("HOME", "USERPROFILE"), str(home)),
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)),
    }
    command: list[str | Path] = [venv.python, launcher, "--noconfirm", "--clean"]
    command += ["--distpath", room / "dist", "--workpath", room / "build", spec]
    lines: list[str] = []

    def on_line(line: str) -> None:
        lines.append(line)
        emit(Note(line, "debug"))

    try:
        run(
            command,
            cancel=cancel,
            cwd=room / "engine",
            environment=environment,
            on_line=on_line,
            error=FreezeError,
        )
    except FreezeError as error:
        raise _named(lines, error) from error


def _named(lines: Sequence[str], error: ExternalError) -> ExternalError | HostToolMissingError:
    telling = [line for line in lines if line.strip() and not _CHATTER.match(line)]
    tail = "\n".join((telling or list(lines))[-_MOST_LINES:])
    if "PythonLibraryNotFoundError" in tail or "Python shared library" in tail:
        return HostToolMissingError(
            "This Python has no shared library, which every frozen program needs.",
            context={"PyInstaller": tail},
            hint="Debian: install libpython3.x; else take a Python built with --enable-shared.",
        )
    return FreezeError(
        f"PyInstaller could not freeze the engine: {error.message}",
        context={"PyInstaller": tail, "command": error.context.get("command", "")},
    )


def _only_directory(dist: Path) -> Path:
    found = sorted(dist.iterdir()) if dist.is_dir() else []
    if len(found) != 1 or not found[0].is_dir():
        raise FreezeError(
            "The spec must make one directory.",
            context={"made": ", ".join(path.name for path in found) or "nothing"},
        )
    return found[0]


def _check_programs(
    collected: Sequence[Collected], frozen: Path, bootloader: Path
) -> tuple[str, ...]:
    """Hold every program against the bootloader by its sections (ELF; others are not compared)."""
    programs = sorted(entry.name for entry in collected if entry.kind == "EXECUTABLE")
    for name in programs:
        program = frozen / name
        if not is_elf(bootloader):
            continue
        for section in _SECTIONS:
            if section_digest(program, section) != section_digest(bootloader, section):
                raise FreezeError(
                    f"{name} was not made from our bootloader.",
                    context={"differs": section, "bootloader": bootloader.name},
                    hint="The spec chose another variant (debug=True), or a bootloader of its own.",
                )
    if not programs:
        raise FreezeError("PyInstaller made no program.")
    return tuple(programs)
