"""Rules over a bundle: CUDA and cuDNN as a family, and the GPUs that they serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vvbuild.linking.edge import Edge
from vvbuild.rules.bundle.wording import listed
from vvbuild.rules.evidence import BundleEvidence, FileFacts
from vvbuild.rules.registry import Family, Found
from vvbuild.rules.shared import GPU_ARCH_UNCOVERED

rule = Family(BundleEvidence)

_SHOWN = 3


@rule(
    "cudnn-family-incomplete",
    "error",
    why="cuDNN opens its parts by name when the first function of one is called: a missing one "
    "is an error in the middle of an inference.",
    source="VOICEVOX/voicevox_engine#408",
    fix="Ship all libraries of that cuDNN; look for a pattern in the recipe that matches nothing.",
)
def cudnn_family_incomplete(evidence: BundleEvidence) -> Iterator[Found]:
    """Beside cuDNN lie all parts that it opens."""
    lost = list(missing_parts(evidence))
    if not lost:
        return
    nvidia = evidence.tables.bytes.nvidia
    majors = {known.major for edge in lost if (known := nvidia.identify(edge.need.name))}
    called = " and ".join(f"cuDNN {major}" for major in sorted(filter(None, majors)))
    users = sorted({edge.user for edge in lost})
    names = listed(edge.need.name for edge in lost)
    yield Found(f"{called} lacks {names}", users[0], {"opened by": listed(users)})


@rule(
    "cudnn-optional-missing",
    "warning",
    why="From 1.29 on ONNX Runtime loads cuDNN only where it is there; without it convolutions "
    "and some others answer `not implemented` on the GPU.",
    source="microsoft/onnxruntime#29252",
    fix="Ship cuDNN 9 for the CUDA of this ONNX Runtime, or be sure that no model needs it.",
)
def cudnn_optional_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """Beside a CUDA provider lies a cuDNN, also where the provider starts without one."""
    row = evidence.tables.bytes.runtimes.onnxruntime_of(evidence.os, evidence.files)
    provider = evidence.files.get(row.providers.get("cuda", "")) if row is not None else None
    if provider is None or provider.binary is None or not provider.gpu:
        return
    nvidia = evidence.tables.bytes.nvidia
    needs = (edge.need.name for edge in evidence.closure.of(provider.path))
    asked = any((known := nvidia.identify(each)) and known.component == "cudnn" for each in needs)
    there = any(_is_cudnn(evidence, file) for file in evidence.binaries())
    if not asked and not there:
        yield Found("there is no cuDNN beside it", provider.path)


@rule(
    "cudnn-mixed-versions",
    "error",
    why="The parts of cuDNN call each other by names that change with every version.",
    source="koharu-rs/koharu#694",
    fix="Take all of cuDNN from one artifact.",
)
def cudnn_mixed_versions(evidence: BundleEvidence) -> Iterator[Found]:
    """All parts of cuDNN are of one version: by what they tell, and by what they call."""
    versions: dict[str, list[str]] = {}
    for file, version in _cudnn_versions(evidence):
        versions.setdefault(version, []).append(file.path)
    if len(versions) > 1:
        yield Found(
            f"cuDNN is of versions {' and '.join(sorted(versions))}",
            min(path for paths in versions.values() for path in paths),
            {version: listed(versions[version]) for version in sorted(versions)},
        )
    pairs = [pair for pair in _unmet(evidence) if _is_cudnn(evidence, pair.giver)]
    if pairs:
        users = listed(pair.user.path for pair in pairs)
        givers = listed(pair.giver.path for pair in pairs)
        yield Found(
            f"{users} and {givers} are of different versions of cuDNN",
            pairs[0].user.path,
            {f"{pair.user.path} asks {pair.giver.path} for": pair.shown for pair in pairs},
        )


@rule(
    "symbol-missing",
    "error",
    why="A library that lacks a function that another one calls has the right name and is too "
    "old, or too new: the loader refuses the caller, or the call fails later.",
    source="https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
    fix="Pin CUDA and cuDNN at least as new as those that ONNX Runtime was built with.",
)
def symbol_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """NVIDIA's libraries have the functions that those in the bundle call."""
    for pair in _unmet(evidence):
        if not _is_cudnn(evidence, pair.user):
            yield Found(f"{pair.giver.path} lacks what it calls: {pair.shown}", pair.user.path)


@rule(
    "cudnn-for-other-cuda",
    "warning",
    why="cuDNN's name is the same for every CUDA, but it opens the cuBLAS of the one that it was "
    "built for.",
    source="pypi:nvidia-cudnn-cu13/9.24.0.43",
    fix="Take the cuDNN for this CUDA: nvidia-cudnn-cu12 for 12, nvidia-cudnn-cu13 for 13.",
)
def cudnn_for_other_cuda(evidence: BundleEvidence) -> Iterator[Found]:
    """The cuBLAS that cuDNN opens is of the CUDA that ONNX Runtime asks for."""
    nvidia = evidence.tables.bytes.nvidia
    there = _cublas_majors(evidence)
    own = {known.major for file in evidence.binaries()
           if (known := nvidia.identify(file.name)) and known.library == "cublasLt"}  # fmt: skip
    for file in evidence.binaries():
        if not _is_cudnn(evidence, file) or not there:
            continue
        asked = {known.major for name in file.asks
                 if (known := nvidia.identify(name)) and known.component == "cuda"}  # fmt: skip
        # One that fits the CUDA beside it is right, and ONNX Runtime is the one that is not.
        if asked and not asked & (there | own):
            wants = " and ".join(f"CUDA {major}" for major in sorted(filter(None, asked)))
            others = " and ".join(f"CUDA {major}" for major in sorted(there))
            yield Found(
                f"this cuDNN is for {wants}, and ONNX Runtime for {others}",
                file.path,
                {"opens": listed(file.asks)},
            )


@rule(
    "zlibwapi-missing",
    "error",
    why="cuDNN 8 on Windows opens zlibwapi.dll for convolutions; without it the program ends "
    "without a word.",
    source="VOICEVOX/voicevox_engine#592",
    fix="Place zlibwapi.dll beside cuDNN, or take cuDNN 9.",
)
def zlibwapi_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """Beside cuDNN 8 for Windows lies zlibwapi.dll."""
    for edge in _lost_zlib(evidence):
        yield Found(f"opens zlibwapi.dll, which is {_where(edge)}", edge.user)


@rule.about(GPU_ARCH_UNCOVERED)
def gpu_arch_uncovered(evidence: BundleEvidence) -> Iterator[Found]:
    """Known generations of NVIDIA GPUs have code in every CUDA library that has any."""
    libraries = [file for file in evidence.binaries() if file.gpu is not None]
    if not libraries:
        return
    uncovered: dict[str, list[str]] = {}
    slow: dict[str, list[str]] = {}
    for row in evidence.tables.compat.gpu.generation:
        called = f"{row.name} {row.capability} ({row.cards[0]})"
        for file in libraries:
            assert file.gpu is not None
            reach = file.gpu.coverage(row.capability).reach
            if reach == "none":
                uncovered.setdefault(called, []).append(file.path)
            elif reach == "jit":
                slow.setdefault(called, []).append(file.path)
    if uncovered:
        paths = sorted({path for each in uncovered.values() for path in each})
        yield Found(
            f"no code for {', '.join(uncovered)}",
            paths[0],
            {called: listed(files) for called, files in uncovered.items()},
        )
    late = {called: files for called, files in slow.items() if called not in uncovered}
    if late:
        paths = sorted({path for each in late.values() for path in each})
        yield Found(
            f"{', '.join(late)}: drivers compile the code when it is first used, which takes "
            "minutes",
            paths[0],
            {called: listed(files) for called, files in late.items()},
            "info",
        )


@rule(
    "driver-library-bundled",
    "error",
    why="The driver's own libraries speak to the kernel's part of that very driver: a copy in a "
    "bundle is taken before it, and fails on every other machine.",
    source="VOICEVOX/voicevox_engine#1757",
    fix="Leave them out; they come with the driver.",
)
def driver_library_bundled(evidence: BundleEvidence) -> Iterator[Found]:
    """No library of the GPU's driver is in the bundle."""
    if evidence.os is None:
        return
    loading = evidence.tables.bytes.loading
    found = [
        path
        for path, file in evidence.files.items()
        if file.kind != "directory" and loading.giver(evidence.os, file.name) == "driver"
    ]
    if found:
        yield Found(f"holds {listed(found)}, which the driver brings", min(found))


class _Unmet(NamedTuple):
    """What one library asks of another one that has it not."""

    user: FileFacts
    giver: FileFacts
    names: tuple[str, ...]

    @property
    def shown(self) -> str:
        more = len(self.names) - _SHOWN
        return ", ".join(self.names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _unmet(evidence: BundleEvidence) -> Iterator[_Unmet]:
    for edge in evidence.closure.edges:
        user, giver = evidence.files[edge.user], evidence.files.get(edge.path or "")
        if giver is None or user.symbols is None or giver.symbols is None:
            continue
        given = giver.symbols.exported_names
        lost = sorted(
            {
                each.name
                for each in user.symbols.undefined
                if each.library == edge.need.name and not each.weak and each.name not in given
            }
        )
        if lost:
            yield _Unmet(user, giver, tuple(lost))


def _is_cudnn(evidence: BundleEvidence, file: FileFacts) -> bool:
    known = evidence.tables.bytes.nvidia.identify(file.name)
    return known is not None and known.component == "cudnn"


def _cublas_majors(evidence: BundleEvidence) -> set[int]:
    """The CUDA that others than cuDNN ask cuBLAS of, whether it is there or not."""
    nvidia = evidence.tables.bytes.nvidia
    found = set()
    for edge in evidence.closure.edges:
        user, known = nvidia.identify(edge.user.rpartition("/")[2]), nvidia.identify(edge.need.name)
        if user is None and known is not None and known.library in ("cublas", "cublasLt"):
            found.add(known.major)
    return {major for major in found if major is not None}


def missing_parts(evidence: BundleEvidence) -> Iterator[Edge]:
    """Parts of cuDNN that another one opens and that the bundle does not have."""
    nvidia = evidence.tables.bytes.nvidia
    for edge in evidence.closure.edges:
        if edge.need.how != "opened" or edge.place != "missing":
            continue
        user, known = nvidia.identify(edge.user.rpartition("/")[2]), nvidia.identify(edge.need.name)
        if user is not None and known is not None and known.component == "cudnn" == user.component:
            yield edge


def _lost_zlib(evidence: BundleEvidence) -> Iterator[Edge]:
    for edge in evidence.closure.edges:
        if edge.need.name.lower() == "zlibwapi.dll" and edge.place in ("missing", "elsewhere"):
            yield edge


def told_there(evidence: BundleEvidence) -> Iterator[Edge]:
    """Needs that have a rule of their own here."""
    yield from missing_parts(evidence)
    yield from _lost_zlib(evidence)


def _cudnn_versions(evidence: BundleEvidence) -> Iterator[tuple[FileFacts, str]]:
    nvidia = evidence.tables.bytes.nvidia
    for file in evidence.binaries():
        known = nvidia.identify(file.name)
        if known is None or known.component != "cudnn":
            continue
        version = file.pe.file_version if file.pe is not None else None
        # 6.14.11.9000 and the like: NVIDIA's number of the driver model, of no cuDNN.
        if version is not None and not version.startswith("6.14."):
            yield file, version


def _where(edge: Edge) -> str:
    return f"in {edge.path}" if edge.path is not None else "not in the bundle"
