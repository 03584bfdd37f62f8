"""What tests of building parts share: recorded events, real tools, small sdists. A plugin."""

from __future__ import annotations

import io
import json
import os
import platform
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from filelock import FileLock

from vvbuild.bootloader.build import BootloaderBuild, BuiltFile, Variant, build_bootloader
from vvbuild.bootloader.compilers import Compiler, zig_compiler
from vvbuild.fetch.session import Session
from vvbuild.fetch.transfer import fetch_artifact
from vvbuild.manifest.bootloader import hint_values
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.events import Event, Note, silent
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Platform
from vvbuild.runtime.cancel import Cancel

_ROOT = Path(__file__).resolve().parents[1]
_LOCKS = _ROOT / "manifests" / "locks"
EXTRA_SOURCES = (_ROOT / "bootloader_extra" / "vvbuild_gpu_hint.c",)
EPOCH = 1_700_000_000
PYINSTALLER = "6.22.3"


@dataclass
class Events:
    """Everything that was emitted."""

    seen: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.seen.append(event)

    def notes(self, level: str) -> list[str]:
        return [each.text for each in self.seen if isinstance(each, Note) and each.level == level]


@pytest.fixture
def events() -> Events:
    return Events()


@dataclass(frozen=True)
class Tools:
    """PyInstaller's source archive, and the programs that vvbuild itself would fetch."""

    sdist: Path
    zig: Path
    uv: Path
    zig_cache: Path


@pytest.fixture(scope="session")
def tools(pytestconfig: pytest.Config) -> Tools:
    """Fetched once into ``VVBUILD_TEST_CACHE``, or pytest's cache; workers of a run share them."""
    chosen = os.environ.get("VVBUILD_TEST_CACHE")
    cache = Path(chosen) if chosen else Path(pytestconfig.cache.mkdir("vvbuild-tools"))
    cache.mkdir(parents=True, exist_ok=True)
    machine = {"AMD64": "x64", "x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}
    system = {"linux": "linux", "darwin": "macos", "win32": "win"}
    host = f"{system[sys.platform]}-{machine[platform.machine()]}"
    with FileLock(cache / "lock"), Session() as session:
        sdist = _fetched(cache, session, _locked("sample", "pyinstaller", None))
        zig = _fetched(cache, session, _locked("tools", "zig", host))
        uv = _fetched(cache, session, _locked("tools", "uv", host))
        return Tools(
            sdist=sdist,
            zig=_program(_unpacked(zig), "zig"),
            uv=_program(_unpacked(uv), "uv"),
            zig_cache=cache / "zig-cache",
        )


@pytest.fixture(scope="session")
def linux_bootloader(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> BuiltFile:
    """A bootloader for Linux x64, built for real, in a directory with a plain name."""
    return real_bootloader(
        tools, tmp_path_factory.mktemp("bootloader"), where=Platform("linux", "x64")
    ).files[0]


def real_bootloader(
    tools: Tools,
    folder: Path,
    *,
    where: Platform,
    variants: tuple[Variant, ...] = ("release",),
    extra: tuple[Path, ...] = EXTRA_SOURCES,
    compiler: Compiler | None = None,
    sdist: Path | None = None,
    version: str = PYINSTALLER,
    zig_cache: Path | None = None,
) -> BootloaderBuild:
    """Build below ``folder`` with the pinned zig, or another compiler."""
    return build_bootloader(
        sdist=sdist or tools.sdist,
        version=version,
        where=where,
        compiler=compiler or zig_compiler(tools.zig, where, {"name": "zig"}),
        extra_sources=extra,
        hints=hint_values(),
        variants=variants,
        work=folder / "work",
        dest=folder / "out",
        epoch=EPOCH,
        cancel=Cancel(),
        emit=silent,
        zig_cache=zig_cache or tools.zig_cache,
    )


def _locked(lock: str, component: str, target: str | None) -> Artifact:
    rows = json.loads((_LOCKS / f"{lock}.lock.json").read_text("utf-8"))["artifacts"]
    row = next(
        row
        for row in rows
        if row["component"] == component and (target is None or target in row["targets"])
    )
    return Artifact(
        name=row["name"],
        component=component,
        version=row["version"],
        references=tuple(Reference.parse(text) for text in row["references"]),
        sha256=Digest(row["sha256"]),
        size=ByteSize(row["size"]),
    )


def _fetched(cache: Path, session: Session, artifact: Artifact) -> Path:
    path = cache / artifact.name
    return path if path.is_file() else fetch_artifact(artifact, path, session=session)


def _unpacked(wheel: Path) -> Path:
    folder = wheel.with_suffix("")
    if not folder.is_dir():
        partial = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(partial, ignore_errors=True)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(partial)
        partial.rename(folder)
    return folder


def _program(folder: Path, name: str) -> Path:
    suffix = ".exe" if sys.platform == "win32" else ""
    (found,) = (path for path in folder.rglob(name + suffix) if path.is_file())
    found.chmod(0o755)
    return found


def write_sdist(path: Path, members: Mapping[str, bytes | tarfile.TarInfo]) -> Path:
    """A ``.tar.gz`` of regular files; a ``TarInfo`` is taken as it is, with its own name."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str], Path]:
    """Make a program out of Python source."""

    def make(name: str, source: str) -> Path:
        path = tmp_path / "scripts" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{sys.executable} -I\n{source}", "utf-8")
        path.chmod(0o755)
        return path

    return make


def snapshot(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Every file and link below, with mode and content."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = (0, str(path.readlink()))
        else:
            mode = path.stat().st_mode & 0o7777
            found[name] = (mode, path.read_bytes() if path.is_file() else "")
    return found
