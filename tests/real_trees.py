"""Bundles made of real libraries from PyPI, each with the one thing wrong that it is about.

``python tests/real_trees.py [CASE ...]`` fetches what the cases need (about 7 GB for all),
unpacks it once below ``VVBUILD_TEST_CACHE`` (or ``~/.cache/vvbuild-real``), lays out each tree by
hard links, and says what the rules find. ``tests/e2e/test_real_trees.py`` holds them to it.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.rules.bundle.trees import evidence_of, tree
from vvbuild.fetch.session import Session
from vvbuild.fetch.transfer import fetch_artifact
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.finding import Finding
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize
from vvbuild.rules.registry import judge

LINUX, WINDOWS, DIRECTML = "linux-x64-cuda", "win-x64-cuda", "win-x64-directml"
CUDA_11 = ["cudart11", "cublas11", "cufft11", "curand11"]
CUDA_12 = ["cudart12", "cublas12", "cufft12", "curand12"]
CUDA_13 = ["cudart13", "cublas13", "cufft13", "curand13", "nvrtc13", "nvjitlink13"]
WINDOWS_12 = ["cudart12-win", "cublas12-win", "cufft12-win", "curand12-win"]
_LIBRARY = ("*.so", "*.so.*", "*.dll")
# What no engine ships: other providers, Python's own module, OpenCL's loader, drop-ins for BLAS.
_LEFT_OUT = ("*tensorrt*", "*pybind11*", "*OpenCL*", "*nvblas*", "*cufftw*", "cudart32*")


@dataclass(frozen=True)
class Case:
    """A tree, and the rules that must find something there, with words of what they say.

    The libraries of some wheels lie in it, but for one, or with one of another wheel instead. A
    ``frozen`` one has its internals in a folder of their own, so that loaders look nowhere else.
    """

    target: str
    of: Sequence[str]
    finds: dict[str, str] = field(default_factory=dict)
    without: str = "-"
    instead: tuple[str, str] = ("", "-")
    frozen: bool = False


CASES: dict[str, Case] = {
    "1.23.2 with CUDA 12 and cuDNN 9": Case(LINUX, ["ort1.23", *CUDA_12, "cudnn9"]),
    "with CUDA 11": Case(
        LINUX, ["ort1.23", *CUDA_11, "cudnn9"],
        {"needed-wrong-major": "needs CUDA 12, but the bundle has CUDA 11"},
    ),
    "with cuDNN 8": Case(
        LINUX, ["ort1.23", *CUDA_12, "cudnn8"],
        {"needed-wrong-major": "needs cuDNN 9, but the bundle has cuDNN 8"},
    ),
    "without a part of cuDNN": Case(
        LINUX, ["ort1.23", *CUDA_12, "cudnn9"],
        {"cudnn-family-incomplete": "cuDNN 9 lacks libcudnn_cnn.so.9"}, without="libcudnn_cnn.so.9",
    ),
    "with curand alone": Case(
        LINUX, ["ort1.23", "curand11", "cudnn9"],
        {"needed-missing": "libcublas.so.12, libcublasLt.so.12, libcudart.so.12, libcufft.so.11"},
    ),
    "with a part of another cuDNN": Case(
        LINUX, ["ort1.23", *CUDA_12, "cudnn9"],
        {"cudnn-mixed-versions": "libcudnn_cnn.so.9"}, instead=("cudnn9-old", "libcudnn_cnn.so.9"),
    ),
    "1.17.1 with CUDA 12": Case(
        LINUX, ["ort1.17", *CUDA_12, "cudnn8"],
        {"needed-wrong-major": "needs CUDA 11, but the bundle has CUDA 12"},
    ),
    "with the cuDNN for CUDA 13": Case(
        LINUX, ["ort1.23", *CUDA_12, "cudnn13"],
        {"cudnn-for-other-cuda": "this cuDNN is for CUDA 13, and ONNX Runtime for CUDA 12",
         "gpu-arch-uncovered": "6.1"},
    ),
    "in a frozen bundle, as the wheel is": Case(
        LINUX, ["ort1.23", *CUDA_12, "cudnn9"], {"rpath-missing": "libcudnn.so.9"}, frozen=True,
    ),
    "1.17.1 with CUDA 11": Case(LINUX, ["ort1.17", *CUDA_11, "cudnn8-cu11"]),
    "1.13.1 with CUDA 11": Case(LINUX, ["ort1.13", *CUDA_11, "cudnn8-cu11"]),
    "1.13.1 with the cuDNN for CUDA 12": Case(
        LINUX, ["ort1.13", *CUDA_11, "cudnn8"],
        {"cudnn-for-other-cuda": "this cuDNN is for CUDA 12, and ONNX Runtime for CUDA 11"},
    ),
    "1.13.1 with CUDA 12": Case(
        LINUX, ["ort1.13", *CUDA_12, "cudnn8"],
        {"needed-wrong-major": "needs CUDA 11, but the bundle has CUDA 12"},
    ),
    "1.31.1 without cuDNN": Case(
        LINUX, ["ort1.31", *CUDA_13],
        {"cudnn-optional-missing": "no cuDNN", "gpu-arch-uncovered": "12.1"},
    ),
    "1.31.1 with cuDNN": Case(
        LINUX, ["ort1.31", *CUDA_13, "cudnn13"], {"gpu-arch-uncovered": "10.0"}
    ),
    "1.31.1 without a part that is new in cuDNN 9.24": Case(
        LINUX, ["ort1.31", *CUDA_13, "cudnn13"],
        {"cudnn-family-incomplete": "cuDNN 9 lacks libcudnn_ext.so.9",
         "gpu-arch-uncovered": "10.0"},
        without="libcudnn_ext.so.9",
    ),
    "1.27.0": Case(LINUX, ["ort1.27", *CUDA_13, "cudnn13"], {"gpu-arch-uncovered": "10.3"}),
    "1.27.0 with the builtins of another nvrtc": Case(
        LINUX, ["ort1.27", *CUDA_13, "cudnn13", "nvrtc12"],
        {"needed-missing": "libnvrtc-builtins.so.13.0",
         "cuda-mixed-majors": "the bundle holds CUDA 12 and CUDA 13",
         "gpu-arch-uncovered": "10.3"},
        without="libnvrtc-builtins.so.13.0",
    ),
    "Windows, 1.23.2 with CUDA 12 and cuDNN 9": Case(
        WINDOWS, ["ort1.23-win", *WINDOWS_12, "cudnn9-win"], {"gpu-arch-uncovered": "7.0"}
    ),
    "Windows, with CUDA 11": Case(
        WINDOWS, ["ort1.23-win", "cudart11-win", "cublas11-win", "cufft11-win", "cudnn9-win"],
        {"needed-wrong-major": "needs CUDA 12, but the bundle has CUDA 11",
         "gpu-arch-uncovered": "7.0"},
    ),
    "Windows, without a part of cuDNN": Case(
        WINDOWS, ["ort1.23-win", *WINDOWS_12, "cudnn9-win"],
        {"cudnn-family-incomplete": "cudnn_ops64_9.dll", "gpu-arch-uncovered": "7.0"},
        without="cudnn_ops64_9.dll",
    ),
    "Windows, with cuDNN 8 and without its zlib": Case(
        WINDOWS, ["ort1.23-win", *WINDOWS_12, "cudnn8-win"],
        {"needed-wrong-major": "needs cuDNN 9, but the bundle has cuDNN 8",
         "zlibwapi-missing": "zlibwapi.dll", "gpu-arch-uncovered": "7.0"},
    ),
    "Windows, DirectML": Case(DIRECTML, ["directml"]),
    "Windows, DirectML 1.8 with 1.23": Case(
        DIRECTML, ["directml"], {"directml-old": "ONNX Runtime 1.23.0 was built with 1.15.4"},
        instead=("directml1.8", "DirectML.dll"),
    ),
}  # fmt: skip


def cache() -> Path:
    """Where wheels and what was in them are kept."""
    chosen = os.environ.get("VVBUILD_TEST_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "vvbuild-real"


def read_toml(name: str) -> dict[str, Any]:
    """A table beside this file."""
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


@functools.cache
def _wheels() -> dict[str, dict[str, str]]:
    return read_toml("real_trees.toml")


def unpacked(name: str) -> Path:
    """A folder with the libraries of a wheel, side by side; fetched and unpacked once."""
    row = _wheels()[name]
    folder = cache() / "libraries" / name
    if folder.is_dir():
        return folder
    reference = Reference.parse(row["file"])
    artifact = Artifact(
        reference.file, reference.project, reference.version, (reference,), Digest(row["sha256"]),
        None, ByteSize(2 << 30),
    )  # fmt: skip
    with Session() as session:
        wheel = fetch_artifact(artifact, cache() / artifact.name, session=session)
    partial = folder.with_name(f"{name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            base = member.rpartition("/")[2]
            wanted = any(fnmatch.fnmatch(base, glob) for glob in _LIBRARY)
            if wanted and not any(fnmatch.fnmatch(base, glob) for glob in _LEFT_OUT):
                with archive.open(member) as source, (partial / base).open("wb") as dest:
                    shutil.copyfileobj(source, dest, 1 << 20)
    partial.rename(folder)
    wheel.unlink()
    return folder


def lay_out(case: Case, folder: Path) -> Path:
    """A bundle of a small program and real libraries, flat as the engine's were before 0.25."""
    licences = '[{"name": "CUDA Toolkit, cuDNN, ONNX Runtime, Python", "text": "%s"}]' % ("x" * 200)
    internals = "engine_internal/" if case.frozen else ""
    papers = {
        f"{internals}base_library.zip": b"zip", "licenses.json": licences.encode(),
        "licenses/cudnn/License.txt": b"x" * 200, "licenses/cuda/License.txt": b"x" * 200,
    }  # fmt: skip
    tree(folder, papers, target=case.target)
    for name in case.of:
        for library in unpacked(name).iterdir():
            if library.name != case.without:
                _link(library, folder / _placed(library.name))
    source, changed = case.instead
    if source:
        _link(unpacked(source) / changed, folder / changed)
    return folder


def _placed(name: str) -> str:
    # Wheels call it by its full version; recipes place it under the name that is opened.
    return "libonnxruntime.so" if name.startswith("libonnxruntime.so.") else name


def _link(source: Path, dest: Path) -> None:
    source.chmod(0o755)
    dest.unlink(missing_ok=True)
    os.link(source, dest)


def findings(case: Case, folder: Path) -> tuple[list[Finding], float]:
    """What the rules say, but for hints; and how many seconds that took."""
    started = time.perf_counter()
    found = judge(evidence_of(folder, target=case.target))
    seconds = time.perf_counter() - started
    left_out = {"description-missing", "licence-missing", "zero-byte-data", "size-budget"}
    return (
        [each for each in found if each.severity != "info" and each.rule not in left_out],
        seconds,
    )


def differences(case: Case, found: Sequence[Finding]) -> Iterator[str]:
    """What was found and should not have been, and the other way round."""
    for finding in found:
        words = case.finds.get(finding.rule)
        said = " ".join([finding.message, *finding.evidence, *finding.evidence.values()])
        if words is None or words not in said:
            yield f"unexpected: {finding.rule}: {finding.message} {dict(finding.evidence)}"
    for rule in case.finds.keys() - {finding.rule for finding in found}:
        yield f"not found: {rule}"


def main(names: Sequence[str]) -> int:
    """Print what is found in each tree."""
    failed = 0
    for name in names or CASES:
        case = CASES[name]
        for each in [*case.of, *filter(None, case.instead[:1])]:
            unpacked(each)
        # On the disk of the libraries, so that a link is enough.
        with tempfile.TemporaryDirectory(dir=cache()) as folder:
            found, seconds = findings(case, lay_out(case, Path(folder)))
        wrong = list(differences(case, found))
        failed += bool(wrong)
        print(f"{'FAIL' if wrong else 'ok'}  {name} ({seconds:.1f} s)", flush=True)
        for finding in found:
            print(f"      {finding.severity} {finding.rule}: {finding.message}")
        for line in wrong:
            print(f"      {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
