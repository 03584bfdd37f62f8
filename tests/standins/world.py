"""A small GitHub with everything that a downloader of one core brings, for all eight targets."""

from __future__ import annotations

import io
import os
import stat
import sys
import tarfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from tests.server.github import LoopbackGitHub
from tests.standins.downloader import DICTIONARY, REPOSITORIES
from tests.standins.notes import write_notes
from vvbuild.fetch.downloader import DownloadRequest, Program, WantedPart
from vvbuild.fetch.unpack import unpack
from vvbuild.manifest.downloader import core_words, find_contract
from vvbuild.model.digest import Digest
from vvbuild.model.locked import Member
from vvbuild.model.target import Target
from vvbuild.runtime.files import hash_file

ROOT = Path(__file__).resolve().parents[2]
TARGETS = (
    "win-x64-cpu", "win-x64-directml", "win-x64-cuda", "macos-x64-cpu", "macos-arm64-cpu",
    "linux-x64-cpu", "linux-arm64-cpu", "linux-x64-cuda",
)  # fmt: skip
# One core of each contract, and two of the one whose files were renamed.
GENERATIONS = {
    "0.14.0": "flat", "0.15.9": "flat", "0.16.0": "first", "0.16.2": "tries", "0.17.0": "semver",
}  # fmt: skip
MODELS = {"first": "0.1.4", "tries": "0.16.3", "semver": "0.16.4"}
ORT, LIBRARIES = "1.17.3", "0.2.1"
MODEL_TERMS = "# VOICEVOX 音声モデル 利用規約\r\n\r\n## 許諾内容\r\n\r\n1. 組み込みできます\r\n"
ORT_TERMS = "# VOICEVOX ONNX Runtime 利用規約\n\n## 禁止事項\n\n- 逆コンパイル <すること> & 公開\n"
# How the core, the builder and the libraries write what we write.
OSES = {"win": ("windows", "win"), "macos": ("osx", "osx"), "linux": ("linux", "linux")}
TITLES = {"win": "Windows", "macos": "macOS", "linux": "Linux"}
ARCHES = {"x64": "x86_64", "arm64": "AArch64"}
SUFFIXES = {"cpu": "", "cuda": "-cuda", "directml": "-dml"}
WORDS = {"cuda": "CUDA", "directml": "DirectML"}


@dataclass(frozen=True)
class Part:
    """A file, program or link of an archive."""

    path: str
    content: bytes = b""
    program: bool = False
    link: str | None = None


def bulk(name: str, size: int = 3000) -> bytes:
    """Bytes that belong to one name alone."""
    return (f"{name}\n".encode() * (size // (len(name) + 1) + 1))[:size]


def zip_of(top: str, parts: list[Part]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(f"{top}/", (2024, 1, 2, 3, 4, 6)), b"")
        for part in parts:
            info = zipfile.ZipInfo(f"{top}/{part.path}", (2024, 1, 2, 3, 4, 6))
            info.create_system = 3
            mode = stat.S_IFREG | (0o755 if part.program else 0o644)
            info.external_attr = (stat.S_IFLNK | 0o777 if part.link else mode) << 16
            content = part.link.encode() if part.link else part.content
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def tgz_of(top: str, parts: list[Part]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        folder = tarfile.TarInfo(top)
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(folder)
        for part in parts:
            info = tarfile.TarInfo(f"{top}/{part.path}")
            info.mode = 0o755 if part.program else 0o644
            if part.link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, part.link
                archive.addfile(info)
            else:
                info.size = len(part.content)
                archive.addfile(info, io.BytesIO(part.content))
    return buffer.getvalue()


def library_parts(stem: str, os_name: str, version: str, folder: str) -> list[Part]:
    """A shared library as each system names it, with the links that its package has."""
    if os_name == "win":
        return [Part(f"{folder}{stem}.dll", bulk(stem)), Part(f"{folder}{stem}.lib", bulk("lib"))]
    if os_name == "macos":
        real, plain = f"lib{stem}.{version}.dylib", f"lib{stem}.dylib"
    else:
        real, plain = f"lib{stem}.so.{version}", f"lib{stem}.so"
    return [Part(f"{folder}{real}", bulk(real), program=True), Part(f"{folder}{plain}", link=real)]


@dataclass
class World:
    """What is published, and what a downloader must leave of it."""

    github: LoopbackGitHub
    core: str
    directory: Path
    direct: dict[tuple[str, str], Path] = field(default_factory=dict)

    @property
    def generation(self) -> str:
        return GENERATIONS[self.core]

    @property
    def models(self) -> str:
        return MODELS[self.generation]

    def publish(self, targets: tuple[str, ...] = TARGETS) -> World:
        """Publish every component, and unpack it as the direct way would."""
        flat = self.generation == "flat"
        self._core(targets, flat=flat)
        self._libraries(targets)
        self._dictionary()
        if not flat:
            self._onnxruntime(targets)
            self._models(targets)
        return self

    # What a request says

    def request(
        self, target: str, *only: str, models_pattern: str | None = "[!n]*"
    ) -> DownloadRequest:
        """What the lock would say for a target."""
        versions = {
            "core": self.core, "onnxruntime": ORT, "additional-libraries": LIBRARIES,
            "models": MODELS.get(self.generation, ""),
        }  # fmt: skip
        parts = {
            component: WantedPart(versions[component], members_of(path))
            for (its_target, component), path in self.direct.items()
            if its_target == target
        }
        return DownloadRequest(
            Target.parse(target),
            core_words(Target.parse(target)),
            parts,
            frozenset(only) if only else None,
            models_pattern,
            tries=2,
        )

    def install(self, *, before: str = "", after: str = "", core: str | None = None) -> Program:
        """The stand-in as a program; ``before`` and ``after`` are Python around its work."""
        path = self.directory / f"download-{len(list(self.directory.glob('download-*')))}.py"
        generation = GENERATIONS[core or self.core]
        dictionary = self.github.server.url("/dictionary.tar.gz")
        path.write_text(
            f"#!{sys.executable} -IS\n"
            f"import os, sys\nsys.path.insert(0, {str(ROOT)!r})\n"
            f"{before}\n"
            "from tests.standins.downloader import main, parse\n"
            f"status = main({generation!r}, api={self.github.api!r}, dictionary={dictionary!r})\n"
            "output = sys.argv[sys.argv.index('--output') + 1]\n"
            f"{after}\n"
            "sys.exit(status)\n"
        )
        if sys.platform == "win32":
            starter = path.with_suffix(".cmd")
            starter.write_text(f'@"{sys.executable}" -IS "{path}" %*\n')
            return Program(starter, find_contract(self.core), hash_file(starter))
        # As it comes from a server: not executable.
        path.chmod(0o644)
        return Program(path, find_contract(self.core), hash_file(path))

    # What is published

    def _keep(self, target: str, component: str, name: str, archive: bytes) -> None:
        if (target, component) in self.direct:
            return
        file = self.directory / f"{target}-{name}"
        file.write_bytes(archive)
        tree = self.directory / "direct" / target / component
        unpack(file, tree, strip=True)
        self.direct[target, component] = tree

    def _core(self, targets: tuple[str, ...], *, flat: bool) -> None:
        files = {}
        for target in targets:
            os_name, arch, device = target.split("-")
            word = "gpu" if (os_name, device) == ("linux", "cuda") else device
            middle = f"{OSES[os_name][0]}-{arch}" + (f"-{word}" if flat else "")
            top = f"voicevox_core-{middle}-{self.core}"
            lib = "" if flat else "lib/"
            parts = [
                *library_parts("voicevox_core", os_name, self.core, lib),
                Part(f"{'' if flat else 'include/'}voicevox_core.h", bulk("header")),
                Part("README.txt", bulk("readme")),
                Part("VERSION", self.core.encode()),
            ]
            if flat:
                parts += library_parts("onnxruntime", os_name, "1.13.1", "")
                parts += [Part("model/d0.bin", bulk("d0")), Part("model/s0.bin", bulk("s0"))]
            else:
                parts.append(Part("LICENSE", bulk("licence")))
            files[f"{top}.zip"] = zip_of(top, parts)
            self._keep(target, "core", f"{top}.zip", files[f"{top}.zip"])
        self.github.release(REPOSITORIES["c_api"], self.core, files)

    def _libraries(self, targets: tuple[str, ...]) -> None:
        files = {}
        for target in targets:
            os_name, arch, device = target.split("-")
            if device == "cpu":
                continue
            top = f"{WORDS[device]}-{OSES[os_name][0]}-{arch}"
            stem = "DirectML" if device == "directml" else "cublas"
            parts = [*library_parts(stem, os_name, "12", ""), Part("EULA.txt", bulk("eula"))]
            files[f"{top}.zip"] = zip_of(top, parts)
            self._keep(target, "additional-libraries", f"{top}.zip", files[f"{top}.zip"])
        self.github.release(REPOSITORIES["additional_libraries"], LIBRARIES, files)

    def _onnxruntime(self, targets: tuple[str, ...]) -> None:
        files, rows, tag = {}, [], f"voicevox_onnxruntime-{ORT}"
        for target in targets:
            os_name, arch, device = target.split("-")
            word = "x86_64" if (os_name, arch) == ("macos", "x64") else arch
            top = f"voicevox_onnxruntime-{OSES[os_name][1]}-{word}{SUFFIXES[device]}-{ORT}"
            parts = [
                *library_parts("voicevox_onnxruntime", os_name, ORT, "lib/"),
                Part("VERSION_NUMBER", ORT.encode()),
                Part("TERMS.txt", ORT_TERMS.encode()),
                Part("bin/onnx_test_runner", bulk(f"tool {target}"), program=True),
            ]
            files[f"{top}.tgz"] = tgz_of(top, parts)
            devices = ["CPU"] if device == "cpu" else [WORDS[device], "CPU"]
            rows.append(
                (TITLES[os_name], ARCHES[arch], devices, "https://e.invalid/", f"{top}.tgz")
            )
            self._keep(target, "onnxruntime", f"{top}.tgz", files[f"{top}.tgz"])
        notes = write_notes(rows, ORT_TERMS)
        self.github.release(REPOSITORIES["onnxruntime_builder"], tag, files, body=notes)

    def _models(self, targets: tuple[str, ...]) -> None:
        files = {
            "README.txt": "# VOICEVOX の音声モデル\n".encode(),
            "TERMS.txt": MODEL_TERMS.encode(),
            **{f"{name}.vvm": bulk(f"model {name}") for name in ("0", "1", "n0", "s0")},
        }
        self.github.release(REPOSITORIES["models"], self.models, files)
        tree = self.directory / "direct" / "models"
        (tree / "vvms").mkdir(parents=True)
        for name, content in files.items():
            if not name.startswith("n"):
                (tree / ("vvms" if name.endswith(".vvm") else ".") / name).write_bytes(content)
        self.direct.update({(target, "models"): tree for target in targets})

    def _dictionary(self) -> None:
        data = tgz_of(DICTIONARY, [Part("sys.dic", bulk("sys")), Part("char.bin", bulk("char"))])
        self.github.server.serve("/dictionary.tar.gz", data)


def members_of(tree: Path) -> dict[str, Member]:
    """The members that a lock has for a tree."""
    found = {}
    for where, _, names in sorted(os.walk(tree)):
        for name in sorted(names):
            path = Path(where, name)
            relative = path.relative_to(tree).as_posix()
            if path.is_symlink():
                found[relative] = Member(link=str(path.readlink()))
                continue
            facts = path.stat()
            digest = Digest.of_bytes(path.read_bytes())
            program = bool(facts.st_mode & 0o111)
            found[relative] = Member(sha256=digest.hex, size=facts.st_size, program=program)
    return found
