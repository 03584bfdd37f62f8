"""Every library finds what it needs, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.makers.elf import elf_bytes
from tests.makers.macho import macho_bytes
from tests.makers.pe import pe_bytes
from tests.rules.bundle.trees import judged, only, tree

CUDA = "linux-x64-cuda"
PROVIDER = "libonnxruntime_providers_cuda.so"
CUDNN_9 = ["libcudnn.so.9", "libcudnn_graph.so.9", "libcudnn_ops.so.9", "libcudnn_cnn.so.9",
           "libcudnn_adv.so.9", "libcudnn_engines_precompiled.so.9",
           "libcudnn_engines_runtime_compiled.so.9", "libcudnn_heuristic.so.9"]  # fmt: skip
CUDA_12 = ["libcublas.so.12", "libcublasLt.so.12", "libcudart.so.12", "libcufft.so.11"]

FROZEN = {"engine_internal/base_library.zip": b"zip"}


def library(*needed: str, soname: str | None = None, runpath: str | None = "$ORIGIN") -> bytes:
    return elf_bytes(soname=soname, needed=[*needed, "libc.so.6"], runpath=runpath)


def cuda(*names: str) -> dict[str, bytes]:
    """Libraries of those names that need no other one."""
    return {name: library(soname=name) for name in names}


@pytest.mark.parametrize("target", ["linux-x64-cpu", "win-x64-cpu", "macos-arm64-cpu"])
def test_a_good_bundle_has_no_findings(tmp_path: Path, target: str) -> None:
    assert judged(tree(tmp_path, target=target), target=target) == []


# What is nowhere


def test_b033_a_library_that_is_nowhere_is_named_once_with_all_who_need_it(tmp_path: Path) -> None:
    name = "libgomp-75eea7e8.so.1"
    files = {"liba.so": library(name), "libb.so": library(name)}

    finding = only(tree(tmp_path / "a", files), "needed-missing")

    assert finding.message == f"needs {name}, which the bundle does not have"
    assert finding.evidence == {"files": "liba.so, libb.so"}
    assert judged(tree(tmp_path / "b", {**files, name: library(soname=name)})) == []


def test_builtins_of_another_nvrtc_are_named(tmp_path: Path) -> None:
    text = {".rodata": b"\0libnvrtc-builtins.so.12.9\0"}
    nvrtc = elf_bytes(soname="libnvrtc.so.12", needed=["libc.so.6"], runpath="$ORIGIN",
                      sections=text)  # fmt: skip
    files = {"libnvrtc.so.12": nvrtc, **cuda("libnvrtc-builtins.so.12.4")}

    finding = only(tree(tmp_path / "a", files, target=CUDA), "needed-missing", target=CUDA)

    assert finding.message == "needs libnvrtc-builtins.so.12.9, which the bundle does not have"
    assert finding.evidence["has"] == "libnvrtc-builtins.so.12.4"
    files.update(cuda("libnvrtc-builtins.so.12.9"))
    assert judged(tree(tmp_path / "b", files, target=CUDA), target=CUDA) == []


def test_all_of_cuda_that_is_missing_is_one_finding(tmp_path: Path) -> None:
    files = {PROVIDER: library(*CUDA_12)}

    finding = only(tree(tmp_path, files, target=CUDA), "needed-missing", target=CUDA)

    assert all(name in finding.message for name in CUDA_12)
    assert finding.path == PROVIDER


@pytest.mark.parametrize("name", ["libc.so.6", "libstdc++.so.6", "libcuda.so.1", "libz.so.1"])
def test_what_system_and_driver_bring_is_not_missing(tmp_path: Path, name: str) -> None:
    assert judged(tree(tmp_path, {"liba.so": library(name)})) == []


def test_needs_that_only_symbol_versions_name_are_needs(tmp_path: Path) -> None:
    """As in wheels whose NEEDED was stripped (ONNX Runtime 1.13.1)."""
    files = {"liba.so": elf_bytes(needed=["libc.so.6"], needs={"libcublas.so.11": ["X_11"]})}

    finding = only(tree(tmp_path, files), "needed-missing")

    assert "libcublas.so.11" in finding.message


@pytest.mark.parametrize("name", ["nvcuda.dll", "KERNEL32.dll", "api-ms-win-crt-heap-l1-1-0.dll"])
def test_what_windows_brings_is_not_missing(tmp_path: Path, name: str) -> None:
    target = "win-x64-cpu"
    files = {"a.dll": pe_bytes(dll=True, imports=[name])}

    assert judged(tree(tmp_path, files, target=target), target=target) == []


def test_windows_does_not_mind_the_case_of_names(tmp_path: Path) -> None:
    target = "win-x64-cpu"
    files = {
        "a.dll": pe_bytes(dll=True, imports=["LIB.dll"]),
        "Lib.DLL": pe_bytes(dll=True, imports=["kernel32.DLL"]),
    }

    assert judged(tree(tmp_path, files, target=target), target=target) == []


def test_a_delayed_import_that_is_nowhere_can_be_lived_with(tmp_path: Path) -> None:
    target = "win-x64-cpu"
    files = {"a.dll": pe_bytes(dll=True, delay_imports=["nowhere.dll"])}

    assert judged(tree(tmp_path, files, target=target), target=target) == []


def test_a_library_for_another_processor_does_not_serve(tmp_path: Path) -> None:
    files = {
        "liba.so": library("libb.so"),
        "libb.so": elf_bytes(machine="arm64", soname="libb.so"),
    }

    assert "needed-missing" in {each.rule for each in judged(tree(tmp_path, files))}


def test_on_macos_a_library_that_is_nowhere_is_found_missing(tmp_path: Path) -> None:
    target = "macos-arm64-cpu"
    needs = ["@rpath/libnowhere.dylib", "/usr/lib/libSystem.B.dylib", ("@rpath/libw.dylib", "weak")]
    data = macho_bytes(dependencies=needs, rpaths=["@loader_path"], signature="adhoc")

    finding = only(
        tree(tmp_path, {"liba.dylib": data}, target=target), "needed-missing", target=target
    )

    assert "libnowhere.dylib" in finding.message
    assert "libw" not in finding.message


# The wrong major


def test_b009_another_major_of_cuda_is_one_finding_that_says_both(tmp_path: Path) -> None:
    files = {
        PROVIDER: library(*CUDA_12),
        **cuda("libcublas.so.13", "libcublasLt.so.13", "libcudart.so.13", "libcufft.so.12"),
    }

    finding = only(tree(tmp_path / "a", files, target=CUDA), "needed-wrong-major", target=CUDA)

    assert finding.message == "needs CUDA 12, but the bundle has CUDA 13"
    assert finding.path == PROVIDER
    assert "libcufft.so.11" in finding.evidence["needs"]
    assert "libcufft.so.12" in finding.evidence["has"]
    files = {PROVIDER: library(*CUDA_12), **cuda(*CUDA_12)}
    assert judged(tree(tmp_path / "b", files, target=CUDA), target=CUDA) == []


def test_b008_what_is_of_another_major_and_what_is_missing_are_two_findings(
    tmp_path: Path,
) -> None:
    needs = ["libcublas.so.12", "libcublasLt.so.12", "libcudnn.so.9"]
    files = {PROVIDER: library(*needs), **cuda("libcublas.so.11", "libcublasLt.so.11")}
    folder = tree(tmp_path, files, target=CUDA)

    assert [(each.rule, each.message) for each in judged(folder, target=CUDA)] == [
        ("needed-missing", "needs libcudnn.so.9, which the bundle does not have"),
        ("needed-wrong-major", "needs CUDA 12, but the bundle has CUDA 11"),
    ]


def test_b014_another_major_of_cudnn_is_stopped(tmp_path: Path) -> None:
    files = {PROVIDER: library(*CUDA_12, "libcudnn.so.8"), **cuda(*CUDA_12, *CUDNN_9)}

    finding = only(tree(tmp_path, files, target=CUDA), "needed-wrong-major", target=CUDA)

    assert finding.message == "needs cuDNN 8, but the bundle has cuDNN 9"


def test_two_majors_of_cuda_in_one_bundle_are_stopped(tmp_path: Path) -> None:
    files = {PROVIDER: library(*CUDA_12), **cuda(*CUDA_12, "libcublas.so.11")}

    finding = only(tree(tmp_path, files, target=CUDA), "cuda-mixed-majors", target=CUDA)

    assert finding.message == "the bundle holds CUDA 11 and CUDA 12"
    assert finding.evidence["CUDA 11"] == "libcublas.so.11"


def test_curand_is_called_alike_in_all_majors_and_proves_none(tmp_path: Path) -> None:
    files = {PROVIDER: library("libcurand.so.10"), **cuda("libcurand.so.10", *CUDA_12)}

    assert judged(tree(tmp_path, files, target=CUDA), target=CUDA) == []


# The place


def test_a_library_that_does_not_look_beside_itself_is_stopped(tmp_path: Path) -> None:
    files = {
        "lib/liba.so": library("libb.so", runpath=None),
        "lib/libb.so": library(soname="libb.so"),
    }

    finding = only(tree(tmp_path, files), "rpath-missing")

    assert finding.message == "does not look where libb.so lies"
    assert finding.evidence == {"there": "lib/libb.so", "looks in": "nothing of its own"}


# Nothing is set, the shell put in what was meant to be kept, or kept what was meant to be a mark.
@pytest.mark.parametrize("runpath", [None, "", r"\$ORIGIN", "$ORIGIN/none"])
def test_b068_b135_a_provider_that_does_not_look_beside_itself_is_stopped(
    tmp_path: Path, runpath: str | None
) -> None:
    files = {**cuda(*CUDA_12), PROVIDER: library(*CUDA_12, runpath=runpath), **FROZEN}
    folder = tree(tmp_path / "a", files, target=CUDA)

    finding = only(folder, "rpath-missing", target=CUDA)

    assert finding.path == PROVIDER
    assert all(name in finding.evidence["there"] for name in CUDA_12)
    files[PROVIDER] = library(*CUDA_12)
    assert judged(tree(tmp_path / "b", files, target=CUDA), target=CUDA) == []


def test_b030_cudnn_that_does_not_look_beside_itself_for_its_parts_is_stopped(
    tmp_path: Path,
) -> None:
    files = {**cuda(*CUDNN_9), **FROZEN}
    files["libcudnn.so.9"] = library(soname="libcudnn.so.9", runpath=None)

    finding = only(tree(tmp_path / "a", files, target=CUDA), "rpath-missing", target=CUDA)

    assert finding.path == "libcudnn.so.9"
    assert "libcudnn_ops.so.9" in finding.evidence["there"]
    files.update(cuda("libcudnn.so.9"))
    assert judged(tree(tmp_path / "b", files, target=CUDA), target=CUDA) == []


def test_a_library_that_comes_after_what_it_needs_need_not_look(tmp_path: Path) -> None:
    files = {**cuda(*CUDA_12), PROVIDER: library(*CUDA_12), **FROZEN}
    files["libcublas.so.12"] = library("libcublasLt.so.12", soname="libcublas.so.12", runpath=None)

    assert judged(tree(tmp_path, files, target=CUDA), target=CUDA) == []


def test_b035_a_dll_in_another_folder_is_not_found(tmp_path: Path) -> None:
    target = "win-x64-cpu"
    files = {
        "a.dll": pe_bytes(dll=True, imports=["ffmpeg.dll"]),
        "codecs/ffmpeg.dll": pe_bytes(dll=True, imports=["KERNEL32.dll"]),
    }

    finding = only(tree(tmp_path / "a", files, target=target), "rpath-missing", target=target)

    assert finding.message == "does not look where ffmpeg.dll lies"
    files["ffmpeg.dll"] = files.pop("codecs/ffmpeg.dll")
    assert judged(tree(tmp_path / "b", files, target=target), target=target) == []


def test_b074_a_program_without_an_rpath_does_not_find_core(tmp_path: Path) -> None:
    target = "macos-arm64-cpu"
    core = macho_bytes(install_name="@rpath/libvoicevox_core.dylib", signature="adhoc")

    def files(*rpaths: str) -> dict[str, bytes]:
        tool = macho_bytes(kind="execute", dependencies=["@rpath/libvoicevox_core.dylib"],
                           rpaths=rpaths, signature="adhoc")  # fmt: skip
        return {"bin/tool": tool, "libvoicevox_core.dylib": core}

    finding = only(tree(tmp_path / "a", files(), target=target), "rpath-missing", target=target)
    assert finding.path == "bin/tool"
    mended = tree(tmp_path / "b", files("@executable_path/..", "@loader_path/.."), target=target)
    assert judged(mended, target=target) == []


@pytest.mark.parametrize("runpath", ["$ORIGIN", "${ORIGIN}/", "$ORIGIN/../lib", "/lib/:$ORIGIN"])
def test_a_library_that_looks_beside_itself_passes(tmp_path: Path, runpath: str) -> None:
    files = {
        "lib/liba.so": library("libb.so", runpath=runpath),
        "lib/libb.so": library(soname="libb.so"),
    }

    assert judged(tree(tmp_path, files)) == []


def test_pyinstallers_folder_is_looked_into_without_being_named(tmp_path: Path) -> None:
    files = {
        "engine_internal/base_library.zip": b"zip",
        "engine_internal/libb.so": library(soname="libb.so"),
        "lib/liba.so": library("libb.so", runpath=None),
    }

    assert judged(tree(tmp_path, files)) == []


def test_a_link_beside_a_library_serves_as_well(tmp_path: Path) -> None:
    folder = tree(
        tmp_path,
        {"lib/liba.so": library("libb.so.1"), "lib/libb.so.1.2": library(soname="libb.so.1")},
    )
    (folder / "lib/libb.so.1").symlink_to("libb.so.1.2")

    assert judged(folder) == []


def test_a_link_to_a_folder_serves_as_well(tmp_path: Path) -> None:
    files = {
        "liba.so": library("libb.so", runpath="$ORIGIN/now"),
        "v1/libb.so": library(soname="libb.so"),
        **FROZEN,
    }
    folder = tree(tmp_path, files)
    (folder / "now").symlink_to("v1")

    assert judged(folder) == []


def test_on_macos_the_programs_rpaths_count_for_its_libraries(tmp_path: Path) -> None:
    target = "macos-arm64-cpu"
    libb = macho_bytes(install_name="@rpath/libb.dylib", signature="adhoc")
    liba = macho_bytes(dependencies=["@rpath/libb.dylib"], signature="adhoc")
    run = macho_bytes(kind="execute", rpaths=["@executable_path/lib"], signature="adhoc")
    files = {"lib/libb.dylib": libb, "liba.dylib": liba}

    assert judged(tree(tmp_path / "a", {**files, "run": run}, target=target), target=target) == []
    finding = only(tree(tmp_path / "b", files, target=target), "rpath-missing", target=target)
    assert finding.path == "liba.dylib"


def test_a_folder_of_the_build_machine_is_told_once(tmp_path: Path) -> None:
    files = {
        "liba.so": library(runpath="/opt/hostedtoolcache/Python/3.11.9/x64/lib:$ORIGIN"),
        "libb.so": library(runpath="/opt/hostedtoolcache/Python/3.11.9/x64/lib"),
    }

    finding = only(tree(tmp_path, files), "build-path-leak")

    assert finding.message == (
        "2 libraries look into /opt/hostedtoolcache/Python/3.11.9/x64/lib, a folder of the machine "
        "that built them"
    )
    assert finding.evidence == {"files": "liba.so, libb.so"}


@pytest.mark.parametrize("folder", ["/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib"])
def test_a_folder_of_the_system_may_be_looked_into(tmp_path: Path, folder: str) -> None:
    assert judged(tree(tmp_path, {"liba.so": library(runpath=f"{folder}:$ORIGIN")})) == []


@pytest.mark.parametrize("there", [True, False])
def test_b067_a_file_of_the_build_machine_is_stopped_whether_it_is_in_the_bundle_or_not(
    tmp_path: Path, there: bool
) -> None:
    target = "macos-arm64-cpu"
    name = "/opt/homebrew/opt/libtorch/lib/libtorch.dylib"
    files = {
        each: macho_bytes(dependencies=[name], signature="adhoc")
        for each in ("liba.dylib", "libb.dylib")
    }
    if there:
        files["lib/libtorch.dylib"] = macho_bytes(
            install_name="@rpath/libtorch.dylib", signature="adhoc"
        )

    finding = only(tree(tmp_path, files, target=target), "build-path-leak", target=target)

    assert finding.severity == "error"
    assert finding.message == f"2 libraries ask for {name}, a file of the machine that built them"


def test_b067_on_linux_as_well(tmp_path: Path) -> None:
    files = {"liba.so": library("/home/runner/work/x/libb.so"), "libb.so": library()}

    finding = only(tree(tmp_path, files), "build-path-leak")

    assert finding.message == (
        "asks for /home/runner/work/x/libb.so, a file of the machine that built it"
    )
