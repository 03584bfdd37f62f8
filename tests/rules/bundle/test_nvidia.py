"""CUDA and cuDNN as a family, and the GPUs that they serve."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.makers.elf import elf_bytes
from tests.makers.fatbin import make_gpu_code
from tests.makers.pe import pe_bytes
from tests.rules.bundle.trees import judged, only, tree
from vvbuild.model.finding import Finding

LINUX, WINDOWS = "linux-x64-cuda", "win-x64-cuda"
PROVIDER = "libonnxruntime_providers_cuda.so"
CUDNN_9 = ["", "_graph", "_ops", "_cnn", "_adv", "_engines_precompiled",
           "_engines_runtime_compiled", "_heuristic"]  # fmt: skip
CUDNN_8 = ["", "_ops_infer", "_cnn_infer", "_adv_infer"]
EVERYTHING = ["sm_60", "sm_70", "sm_75", "sm_80", "sm_90", "sm_100", "sm_120", "compute_120"]


def linux(name: str, *needed: str, gpu: list[str] | None = None, text: bytes = b"") -> bytes:
    sections = {".nv_fatbin": make_gpu_code([gpu])} if gpu else {}
    return elf_bytes(
        soname=name, needed=[*needed, "libc.so.6"], runpath="$ORIGIN",
        sections={**sections, ".rodata": text} if text or sections else None,
    )  # fmt: skip


def cudnn(major: int = 9, without: str = "-") -> dict[str, bytes]:
    parts = CUDNN_9 if major == 9 else CUDNN_8
    names = (f"libcudnn{part}.so.{major}" for part in parts if part != without)
    return {name: linux(name) for name in names}


def for_windows(parts: list[str], major: int, **versions: str) -> dict[str, bytes]:
    return {
        f"cudnn{part}64_{major}.dll": pe_bytes(
            dll=True, imports=["KERNEL32.dll"], version=versions.get(part.lstrip("_"), "9.10.2.21")
        )
        for part in parts
    }


def of(findings: list[Finding], rule: str) -> list[Finding]:
    return [each for each in findings if each.rule == rule]


def test_a_whole_family_passes(tmp_path: Path) -> None:
    assert judged(tree(tmp_path / "9", cudnn(9), target=LINUX), target=LINUX) == []
    assert judged(tree(tmp_path / "8", cudnn(8), target=LINUX), target=LINUX) == []
    windows = for_windows(CUDNN_9, 9)
    assert judged(tree(tmp_path / "w", windows, target=WINDOWS), target=WINDOWS) == []


@pytest.mark.parametrize("part", ["_ops", "_cnn", "_engines_precompiled"])
def test_b019_b029_a_part_of_cudnn_that_is_missing_is_named(tmp_path: Path, part: str) -> None:
    folder = tree(tmp_path, cudnn(9, without=part), target=LINUX)

    finding = only(folder, "cudnn-family-incomplete", target=LINUX)

    assert finding.message == f"cuDNN 9 lacks libcudnn{part}.so.9"


def test_b019_a_part_that_another_links_is_told_once(tmp_path: Path) -> None:
    files = {**cudnn(9, without="_ops"), PROVIDER: linux(PROVIDER, "libcudnn_ops.so.9")}

    only(tree(tmp_path, files, target=LINUX), "cudnn-family-incomplete", target=LINUX)


def test_b019_which_parts_there_are_is_told_by_the_bytes(tmp_path: Path) -> None:
    """cuDNN 9.24 has two parts that 9.10 has not."""
    graph = "libcudnn_graph.so.9"
    text = b"\0libcudnn_graph.so.9\0libcudnn_heuristic.so\0libcudnn_engines_tensor_ir.so\0"
    files = {**cudnn(9), graph: linux(graph, text=text)}

    finding = only(tree(tmp_path / "a", files, target=LINUX), "cudnn-family-incomplete",
                   target=LINUX)  # fmt: skip

    assert finding.message == "cuDNN 9 lacks libcudnn_engines_tensor_ir.so.9"
    part = "libcudnn_engines_tensor_ir.so.9"
    files[part] = linux(part)
    assert judged(tree(tmp_path / "b", files, target=LINUX), target=LINUX) == []


def test_b019_on_windows_as_well(tmp_path: Path) -> None:
    parts = [part for part in CUDNN_9 if part != "_cnn"]
    folder = tree(tmp_path, for_windows(parts, 9), target=WINDOWS)

    finding = only(folder, "cudnn-family-incomplete", target=WINDOWS)

    assert finding.message == "cuDNN 9 lacks cudnn_cnn64_9.dll"


def test_b030_parts_of_two_versions_are_stopped(tmp_path: Path) -> None:
    files = for_windows(CUDNN_9, 9, cnn="9.8.0.87")

    finding = only(tree(tmp_path, files, target=WINDOWS), "cudnn-mixed-versions", target=WINDOWS)

    assert finding.message == "cuDNN is of versions 9.10.2.21 and 9.8.0.87"
    assert finding.evidence["9.8.0.87"] == "cudnn_cnn64_9.dll"


def test_b018_cudnn_8_on_windows_needs_zlibwapi(tmp_path: Path) -> None:
    files = for_windows(CUDNN_8, 8)

    finding = only(tree(tmp_path / "a", files, target=WINDOWS), "zlibwapi-missing", target=WINDOWS)

    assert finding.path == "cudnn64_8.dll"
    files["zlibwapi.dll"] = pe_bytes(dll=True, imports=["KERNEL32.dll"])
    assert judged(tree(tmp_path / "b", files, target=WINDOWS), target=WINDOWS) == []


def test_b018_a_zlib_that_lies_elsewhere_is_none(tmp_path: Path) -> None:
    files = for_windows(CUDNN_8, 8)
    files["lib/zlibwapi.dll"] = pe_bytes(dll=True, imports=["KERNEL32.dll"])

    finding = only(tree(tmp_path, files, target=WINDOWS), "zlibwapi-missing", target=WINDOWS)

    assert finding.message == "opens zlibwapi.dll, which is in lib/zlibwapi.dll"


def test_of_cudnn_8_another_part_opens_cublas(tmp_path: Path) -> None:
    cublas = {name: linux(name) for name in ("libcublas.so.11", "libcublasLt.so.11")}
    files = {**cudnn(8), **cublas, PROVIDER: linux(PROVIDER, "libcudnn.so.8", *cublas)}
    part = "libcudnn_ops_infer.so.8"
    files[part] = linux(part, text=b"\0libcublasLt.so.12\0")

    finding = only(tree(tmp_path / "a", files, target=LINUX), "cudnn-for-other-cuda", target=LINUX)

    assert finding.path == part
    files[part] = linux(part, text=b"\0libcublasLt.so.11\0")
    assert judged(tree(tmp_path / "b", files, target=LINUX), target=LINUX) == []


def test_a_cudnn_that_fits_the_cuda_beside_it_is_not_the_one_that_is_wrong(tmp_path: Path) -> None:
    cublas = {name: linux(name) for name in ("libcublas.so.13", "libcublasLt.so.13")}
    files = {**cudnn(9), **cublas, PROVIDER: linux(PROVIDER, "libcublasLt.so.12")}
    files["libcudnn_adv.so.9"] = linux("libcudnn_adv.so.9", text=b"\0libcublasLt.so.13\0")

    only(tree(tmp_path, files, target=LINUX), "needed-wrong-major", target=LINUX)


def test_a_cudnn_for_another_cuda_is_told_by_the_cublas_that_it_opens(tmp_path: Path) -> None:
    cublas = {name: linux(name) for name in ("libcublas.so.12", "libcublasLt.so.12")}
    files = {**cudnn(9), **cublas, PROVIDER: linux(PROVIDER, *cublas)}
    files["libcudnn_adv.so.9"] = linux("libcudnn_adv.so.9", text=b"\0libcublasLt.so.13\0")

    finding = only(tree(tmp_path / "a", files, target=LINUX), "cudnn-for-other-cuda", target=LINUX)

    assert finding.message == "this cuDNN is for CUDA 13, and ONNX Runtime for CUDA 12"
    files["libcudnn_adv.so.9"] = linux("libcudnn_adv.so.9", text=b"\0libcublasLt.so.12\0")
    assert judged(tree(tmp_path / "b", files, target=LINUX), target=LINUX) == []


def test_a_provider_that_starts_without_cudnn_is_a_warning(tmp_path: Path) -> None:
    files = {PROVIDER: linux(PROVIDER, gpu=EVERYTHING)}

    finding = only(
        tree(tmp_path / "a", files, target=LINUX), "cudnn-optional-missing", target=LINUX
    )

    assert finding.severity == "warning"
    assert judged(tree(tmp_path / "b", files | cudnn(9), target=LINUX), target=LINUX) == []


# GPUs


def test_b056_a_gpu_without_code_is_named_with_its_cards(tmp_path: Path) -> None:
    files = {
        **cudnn(9),
        PROVIDER: linux(PROVIDER, gpu=["sm_60", "sm_70", "sm_75", "sm_80", "sm_90"]),
    }

    finding = only(tree(tmp_path / "a", files, target=LINUX), "gpu-arch-uncovered", target=LINUX)

    assert finding.severity == "warning"
    assert "Blackwell 12.0 (GeForce RTX 5080)" in finding.message
    assert PROVIDER in finding.evidence["Blackwell 12.0 (GeForce RTX 5080)"]
    files[PROVIDER] = linux(PROVIDER, gpu=EVERYTHING)
    assert judged(tree(tmp_path / "b", files, target=LINUX), target=LINUX) == []


def test_b057_ptx_for_one_gpu_alone_serves_no_newer_one(tmp_path: Path) -> None:
    known = EVERYTHING[:5]
    files = {**cudnn(9), PROVIDER: linux(PROVIDER, gpu=[*known, "compute_90a"])}
    finding = only(tree(tmp_path / "a", files, target=LINUX), "gpu-arch-uncovered", target=LINUX)
    assert finding.severity == "warning"

    files[PROVIDER] = linux(PROVIDER, gpu=[*known, "compute_90"])
    finding = only(tree(tmp_path / "b", files, target=LINUX), "gpu-arch-uncovered", target=LINUX)
    assert finding.severity == "info"
    assert "drivers compile the code when it is first used" in finding.message


def test_every_cuda_library_counts_not_the_provider_alone(tmp_path: Path) -> None:
    files = {
        **cudnn(9),
        PROVIDER: linux(PROVIDER, gpu=EVERYTHING),
        "libcufft.so.11": linux("libcufft.so.11", gpu=["sm_90"]),
    }

    finding = only(tree(tmp_path, files, target=LINUX), "gpu-arch-uncovered", target=LINUX)

    assert finding.path == "libcufft.so.11"


# What is the driver's and the system's


@pytest.mark.parametrize("name", ["libcuda.so.1", "libnvidia-ml.so.1"])
def test_b136_a_library_of_the_driver_is_stopped(tmp_path: Path, name: str) -> None:
    finding = only(
        tree(tmp_path, {name: linux(name)}, target=LINUX), "driver-library-bundled", target=LINUX
    )
    assert finding.message == f"holds {name}, which the driver brings"


@pytest.mark.parametrize("name", ["libc.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2"])
def test_b032_a_part_of_the_systems_c_library_is_stopped(tmp_path: Path, name: str) -> None:
    folder = tree(tmp_path, {f"engine_internal/{name}": linux(name)})

    finding = only(folder, "host-library-bundled")

    assert finding.path == f"engine_internal/{name}"
    assert finding.severity == "error"


def test_b032_a_copy_of_libstdcxx_is_a_warning(tmp_path: Path) -> None:
    files = {f"engine_internal/{name}": linux(name) for name in ("libstdc++.so.6", "libgcc_s.so.1")}

    finding = only(tree(tmp_path, files), "host-library-bundled")

    assert finding.severity == "warning"
    assert "libgcc_s" not in finding.message


def test_a_library_in_two_places_is_told(tmp_path: Path) -> None:
    big = elf_bytes(soname="libbig.so.1", needed=["libc.so.6"], data=bytes(1 << 20))
    files = {"libbig.so.1": big, "engine_internal/libbig.so.1": big}

    finding = only(tree(tmp_path, files), "duplicate-library")

    assert finding.message == "libbig.so.1 lies in 2 places, with the same bytes"


# What they call


def calling(name: str, **calls: str) -> bytes:
    """A library that calls a function of each of some others, given as ``libx=function``."""
    libraries = {f"{each}.so.9" if "cudnn" in each else f"{each}.so.12": function
                 for each, function in calls.items()}  # fmt: skip
    return elf_bytes(
        soname=name, needed=[*libraries, "libc.so.6"], runpath="$ORIGIN", relocations=True,
        needs={library: [library] for library in libraries},
        undefined=[f"{function}@{library}" for library, function in libraries.items()],
    )  # fmt: skip


def giving(name: str, *functions: str) -> bytes:
    return elf_bytes(
        soname=name, needed=["libc.so.6"], defines=[name],
        exports=[f"{function}@@{name}" for function in functions],
    )  # fmt: skip


def test_b030_parts_that_call_what_others_lack_are_of_several_versions(tmp_path: Path) -> None:
    files = {**cudnn(9), "libcudnn_graph.so.9": giving("libcudnn_graph.so.9", "old")}
    files["libcudnn_cnn.so.9"] = calling("libcudnn_cnn.so.9", libcudnn_graph="new")

    finding = only(tree(tmp_path / "a", files, target=LINUX), "cudnn-mixed-versions", target=LINUX)

    assert finding.message == (
        "libcudnn_cnn.so.9 and libcudnn_graph.so.9 are of different versions of cuDNN"
    )
    files["libcudnn_cnn.so.9"] = calling("libcudnn_cnn.so.9", libcudnn_graph="old")
    assert judged(tree(tmp_path / "b", files, target=LINUX), target=LINUX) == []


def test_a_cublas_that_lacks_what_the_provider_calls_is_stopped(tmp_path: Path) -> None:
    files = {
        PROVIDER: calling(PROVIDER, libcublas="cublasNewer"),
        "libcublas.so.12": giving("libcublas.so.12", "cublasOlder"),
    }

    finding = only(tree(tmp_path / "a", files, target=LINUX), "symbol-missing", target=LINUX)

    assert finding.path == PROVIDER
    assert finding.message == "libcublas.so.12 lacks what it calls: cublasNewer"
    files["libcublas.so.12"] = giving("libcublas.so.12", "cublasOlder", "cublasNewer")
    assert judged(tree(tmp_path / "b", files, target=LINUX), target=LINUX) == []
