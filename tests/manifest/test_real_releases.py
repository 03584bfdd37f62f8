"""The releases of VOICEVOX ENGINE: what their workflows pinned, written down a second time."""

from __future__ import annotations

import msgspec
import pytest

from vvbuild.errors import LockError, ManifestError
from vvbuild.manifest.lock import load_release_lock, lock_path, require_locked
from vvbuild.manifest.recipe import load_recipe
from vvbuild.manifest.release import LoadedRelease, find_release, release_names
from vvbuild.model.locked import LockFile
from vvbuild.model.target import Target

# fmt: off
FINAL = [
    "0.14.0", "0.14.1", "0.14.2", "0.14.3", "0.14.4", "0.14.5", "0.14.6", "0.14.7",
    "0.15.0", "0.15.1", "0.16.0", "0.17.0", "0.17.1", "0.18.0", "0.18.1", "0.19.0", "0.19.1",
    "0.20.0", "0.21.0", "0.21.1", "0.22.0", "0.22.1", "0.22.2", "0.23.0", "0.23.1",
    "0.24.0", "0.24.1", "0.25.0", "0.25.1", "0.25.2",
]
# fmt: on
REAL = [*FINAL, "main", "nemo-0.26.0-preview.0"]

# The release's commit, interpreter and pins, as its workflow and its lock file say.
PINS: dict[str, dict[str, str]] = {
    "0.14.7": {
        "commit": "0dda8cca7fb0c7d9d935034da66c8bbd0f5ef74c", "python": "==3.8.10",
        "pyinstaller": "5.3", "core": "0.14.6", "resource": "0.14.5", "onnxruntime": "1.13.1",
        "cuda": "11.6.2", "cudnn": "8.4.1.50", "directml": "1.10.0", "zlibwapi": "1.2.3",
    },
    "0.15.1": {
        "commit": "cf014df3e5dec286df2f664116dd245436b48837", "python": "==3.11.3",
        "pyinstaller": "5.13.2", "core": "0.14.6", "resource": "0.15.0", "onnxruntime": "1.13.1",
        "cuda": "11.8.0", "cudnn": "8.9.2.26", "directml": "1.10.0", "zlibwapi": "1.2.3",
    },
    "0.20.0": {
        "commit": "d399635b610fc201e2a870cde114bb83c4cc64d8", "python": "==3.11.3",
        "pyinstaller": "5.13.2", "core": "0.15.4", "resource": "0.20.0", "onnxruntime": "1.13.1",
        "cuda": "11.8.0", "cudnn": "8.9.2.26", "directml": "1.10.0", "zlibwapi": "1.2.3",
    },
    "0.24.1": {
        "commit": "fb9972dd5753f81c2a3a1af52b09bfc01f1608ab", "python": "==3.11.9",
        "pyinstaller": "5.13.2", "core": "0.15.9", "resource": "0.24.1", "onnxruntime": "1.13.1",
        "cuda": "11.8.0", "cudnn": "8.9.2.26", "directml": "1.10.0", "zlibwapi": "1.2.3",
    },
    "0.25.2": {
        "commit": "f2a20b1d4d2613851daffdd1de2217a472d89c48", "python": "==3.11.9",
        "pyinstaller": "6.17.0", "core": "0.16.2", "resource": "0.25.2", "onnxruntime": "1.17.3",
        "cuda": "12.2.2", "cudnn": "8.9.2.26", "directml": "1.13.1", "zlibwapi": "1.2.3",
        "downloader": "0.16.2", "additional-libraries": "0.2.0", "models": "0.16.4",
    },
    "main": {
        "commit": "d4b1b3e6e3bb8d9bc9e6b858374221e3970618bb", "python": "==3.14.6",
        "pyinstaller": "6.21.0", "core": "0.17.0", "resource": "0.25.2", "onnxruntime": "1.23.2",
        "cuda": "12.8.1", "cudnn": "9.8.0.87", "directml": "1.15.4",
        "downloader": "0.17.0", "additional-libraries": "0.3.0", "models": "0.16.4",
    },
}  # fmt: skip

CUDNN_84 = "cudnn-{}-x86_64-8.4.1.50_cuda11.6-archive.{}"
CUDNN_89 = "cudnn-{}-x86_64-8.9.2.26_cuda11-archive.{}"
DIRECTML = "Microsoft.AI.DirectML.1.10.0.nupkg"
ZLIB = "zlib123dllx64.zip"


def direct(core: str, cudnn: str) -> dict[str, tuple[str, ...]]:
    """Upstream's target, runner left out → the files that it was made from, up to 0.24."""
    return {
        "windows-cpu": (
            f"voicevox_core-windows-x64-cpu-{core}.zip", "onnxruntime-win-x64-1.13.1.zip",
        ),
        "windows-directml": (
            f"voicevox_core-windows-x64-directml-{core}.zip",
            "Microsoft.ML.OnnxRuntime.DirectML.1.13.1.zip", DIRECTML,
        ),
        "windows-nvidia": (
            f"voicevox_core-windows-x64-cuda-{core}.zip", "onnxruntime-win-x64-gpu-1.13.1.zip",
            cudnn.format("windows", "zip"), ZLIB,
        ),
        "macos-x64": (
            f"voicevox_core-osx-x64-cpu-{core}.zip", "onnxruntime-osx-x86_64-1.13.1.tgz",
        ),
        "macos-arm64": (
            f"voicevox_core-osx-arm64-cpu-{core}.zip", "onnxruntime-osx-arm64-1.13.1.tgz",
        ),
        "linux-cpu": (
            f"voicevox_core-linux-x64-cpu-{core}.zip", "onnxruntime-linux-x64-1.13.1.tgz",
        ),
        "linux-cpu-arm64": (
            f"voicevox_core-linux-arm64-cpu-{core}.zip", "onnxruntime-linux-aarch64-1.13.1.tgz",
        ),
        "linux-nvidia": (
            f"voicevox_core-linux-x64-gpu-{core}.zip", "onnxruntime-linux-x64-gpu-1.13.1.tgz",
            cudnn.format("linux", "tar.xz"),
        ),
    }  # fmt: skip


def downloaded(core: str, ort: str, *zlib: str) -> dict[str, tuple[str, ...]]:
    """The same from 0.25 on, where the downloader fetches them."""
    names = {
        "windows-cpu": ("windows-x64", "win-x64", ".exe"),
        "windows-directml": ("windows-x64", "win-x64-dml", ".exe", "DirectML-windows-x64.zip"),
        "windows-nvidia": ("windows-x64", "win-x64-cuda", ".exe", "CUDA-windows-x64.zip", *zlib),
        "macos-x64": ("osx-x64", "osx-x86_64", ""),
        "macos-arm64": ("osx-arm64", "osx-arm64", ""),
        "linux-cpu-x64": ("linux-x64", "linux-x64", ""),
        "linux-cpu-arm64": ("linux-arm64", "linux-arm64", ""),
        "linux-nvidia": ("linux-x64", "linux-x64-cuda", "", "CUDA-linux-x64.zip"),
    }
    return {
        target: (
            f"voicevox_core-{platform}-{core}.zip", f"download-{platform}{suffix}",
            f"voicevox_onnxruntime-{build}-{ort}.tgz", *rest,
        )
        for target, (platform, build, suffix, *rest) in names.items()
    }  # fmt: skip


def only(files: dict[str, tuple[str, ...]], *without: str) -> dict[str, tuple[str, ...]]:
    return {target: names for target, names in files.items() if target not in without}


LATE = direct("0.15.9", CUDNN_89)
FILES = {
    "0.14.7": only(direct("0.14.6", CUDNN_84), "macos-arm64", "linux-cpu-arm64"),
    "0.15.1": only(direct("0.14.6", CUDNN_89), "macos-arm64", "linux-cpu-arm64"),
    "0.20.0": only(direct("0.15.4", CUDNN_89), "linux-cpu-arm64"),
    "0.24.1": {**only(LATE, "linux-cpu"), "linux-cpu-x64": LATE["linux-cpu"]},
    "0.25.2": downloaded("0.16.2", "1.17.3", ZLIB),
    "main": downloaded("0.17.0", "1.23.2"),
}

# Windows, macOS on x64, Linux on x64.
RUNNERS = {
    "0.14.7": ("windows-2019", "macos-11", "ubuntu-20.04"),
    "0.15.1": ("windows-2019", "macos-11", "ubuntu-20.04"),
    "0.20.0": ("windows-2019", "macos-12", "ubuntu-20.04"),
    "0.24.1": ("windows-2022", "macos-13", "ubuntu-22.04"),
    "0.25.2": ("windows-2022", "macos-15-intel", "ubuntu-22.04"),
    "main": ("windows-2022", "macos-15-intel", "ubuntu-22.04"),
}


def files_of(loaded: LoadedRelease, target: Target) -> set[str]:
    """What a bundle is made from, without PyInstaller and the models, which every target has."""
    return {
        item.name
        for item in loaded.artifacts
        if str(target) in item.targets and item.component not in ("pyinstaller", "models")
    }


def test_every_release_since_0_14_is_there_in_the_order_of_versions() -> None:
    assert list(release_names()) == [*REAL, "sample"]


@pytest.mark.parametrize("name", PINS)
def test_the_pins_are_those_of_the_workflow(name: str) -> None:
    loaded = find_release(name)
    row = loaded.row
    found = {name: component.version for name, component in row.components.items()}

    assert {"commit": row.engine.commit, "python": row.python.requires, **found} == PINS[name]
    assert row.engine.version == (name if name != "main" else "0.26.0-dev")
    for component in ("cuda", "cudnn"):
        concerned = {
            str(each) for each in loaded.targets if row.components[component].concerns(str(each))
        }
        assert concerned == {"win-x64-cuda", "linux-x64-cuda"}


@pytest.mark.parametrize("name", FILES)
def test_every_target_is_made_from_the_files_of_the_workflow(name: str) -> None:
    loaded = find_release(name)

    found = {loaded.upstream_name(target): files_of(loaded, target) for target in loaded.targets}
    assert found == {target: set(names) for target, names in FILES[name].items()}


@pytest.mark.parametrize(
    ("name", "glob"),
    [("0.25.0", "*.vvm"), ("0.25.2", "[!n]*.vvm"), ("nemo-0.26.0-preview.0", "n*.vvm")],
)
def test_the_models_of_a_release_are_those_that_its_pattern_takes(name: str, glob: str) -> None:
    loaded = find_release(name)
    version = loaded.row.components["models"].version

    models = {item.name: item for item in loaded.artifacts if item.component == "models"}
    readme, terms = (f"voicevox_vvm-{version}-{file}.txt" for file in ("README", "TERMS"))
    assert set(models) == {glob, readme, terms}
    assert all(len(item.targets) == len(loaded.targets) for item in models.values())
    assert (models[glob].into, models[glob].covers("1.vvm")) == ("vvms", glob != "n*.vvm")
    assert models[glob].covers("n0.vvm") == (glob != "[!n]*.vvm")
    assert models[terms].terms == "file"


@pytest.mark.parametrize("name", RUNNERS)
def test_the_runners_are_those_of_the_workflow(name: str) -> None:
    loaded = find_release(name)
    found = {str(target): loaded.runner(target) for target in loaded.targets}
    windows, mac, linux = RUNNERS[name]
    expected = {
        "win-x64-cpu": windows, "win-x64-directml": windows, "win-x64-cuda": windows,
        "macos-x64-cpu": mac, "macos-arm64-cpu": "macos-14",
        "linux-x64-cpu": linux, "linux-arm64-cpu": "ubuntu-22.04-arm", "linux-x64-cuda": linux,
    }  # fmt: skip

    assert found == {target: expected[target] for target in found}


def test_the_flavour_of_onnx_runtime_changed_with_the_downloader() -> None:
    flavours = {name: find_release(name).row.components["onnxruntime"].flavour for name in REAL}
    first = REAL.index("0.25.0")

    assert {flavours[name] for name in REAL[:first]} == {"microsoft"}
    assert {flavours[name] for name in REAL[first:]} == {"voicevox"}


def test_nemo_takes_the_models_that_voicevox_leaves_out() -> None:
    patterns = {name: find_release(name).row.components["models"].pattern for name in REAL[-5:]}

    assert patterns == {
        "0.25.0": None, "0.25.1": "[!n]*", "0.25.2": "[!n]*", "main": "[!n]*",
        "nemo-0.26.0-preview.0": "n*",
    }  # fmt: skip
    assert find_release(REAL[-1]).row.engine.repository == "VOICEVOX/voicevox_nemo_engine"


@pytest.mark.parametrize(
    ("name", "target", "stem", "top"),
    [
        ("0.25.2", "win-x64-cuda", "voicevox_engine-windows-nvidia-0.25.2", "windows-nvidia"),
        ("0.23.0", "linux-x64-cpu", "voicevox_engine-linux-cpu-x64-0.23.0", "linux-cpu-x64"),
        ("0.22.2", "linux-x64-cpu", "voicevox_engine-linux-cpu-0.22.2", "linux-cpu"),
        ("0.14.0", "macos-x64-cpu", "voicevox_engine-macos-x64-0.14.0", "macos-x64"),
        ("main", "linux-arm64-cpu", "voicevox_engine-linux-cpu-arm64-0.26.0-dev",
         "linux-cpu-arm64"),
    ],
)  # fmt: skip
def test_archives_are_named_as_upstream_names_them(
    name: str, target: str, stem: str, top: str
) -> None:
    assert find_release(name).archive_names(Target.parse(target)) == (stem, top)


def test_no_two_releases_are_the_same_commit() -> None:
    rows = [find_release(name).row.engine for name in REAL]

    assert len({row.commit for row in rows}) == len(REAL)
    times = [find_release(name).epoch for name in FINAL]
    assert times == sorted(times)


# Locks


@pytest.mark.parametrize("name", REAL)
def test_a_lock_claims_nothing_that_it_cannot_source(name: str) -> None:
    rows = msgspec.json.decode(lock_path(name).read_bytes(), type=LockFile).artifacts

    for row in rows:
        assert (row.sha256 is None) != (row.unlocked is None)
        assert row.size or row.max_size
        if row.sha256 is not None:
            assert row.provenance["sha256"], row.name
        if row.size is not None:
            assert row.provenance["size"], row.name
        assert row.unlocked is None or row.max_size


@pytest.mark.parametrize("name", REAL)
def test_pyinstaller_is_locked_by_its_index(name: str) -> None:
    loaded = find_release(name)
    (pyinstaller,) = load_release_lock(loaded).component("pyinstaller", loaded.targets[0])

    assert pyinstaller.version == loaded.row.components["pyinstaller"].version
    assert pyinstaller.size
    assert pyinstaller.provenance["sha256"] == "index of pypi"


def test_a_digest_is_for_the_version_that_it_was_seen_for() -> None:
    """The downloader has the same file names in every version; 0.16.4's digests are public."""
    for name in REAL:
        lock = load_release_lock(find_release(name))
        assert not [item for item in lock.artifacts if item.component == "downloader"]


def test_known_digests_are_in_the_locks() -> None:
    def digest(name: str, artifact: str) -> str:
        (found,) = (
            item for item in load_release_lock(find_release(name)).artifacts
            if item.name == artifact
        )  # fmt: skip
        return found.sha256.hex

    assert digest("0.25.2", "voicevox_onnxruntime-linux-x64-1.17.3.tgz") == (
        "72b5287fdd48dc833a9929f6e9e3826e793b54ce1202181be93f63823a222f58"
    )
    assert digest("0.24.1", "voicevox_core-linux-x64-cpu-0.15.9.zip") == (
        "7448a41107062fa879f674f163cdf75c605ac148dc7aaf0dc48515851750d88f"
    )
    assert digest("0.14.0", ZLIB) == (
        "fd324c6923aa4f45a60413665e0b68bb34a7779d0861849e02d2711ff8efb9a4"
    )


def test_a_bundle_of_what_is_not_locked_is_refused_before_anything_is_fetched() -> None:
    loaded = find_release("0.25.2")
    lock = load_release_lock(loaded)

    with pytest.raises(LockError, match="not locked") as caught:
        require_locked(loaded, lock, Target.parse("win-x64-cuda"))
    assert caught.value.exit_status == 4
    assert "`vvbuild lock --release 0.25.2`" in str(caught.value.hint)
    assert "CUDA-windows-x64.zip" in caught.value.context


def test_a_release_whose_era_has_no_recipe_says_so() -> None:
    with pytest.raises(ManifestError, match=r"There is no recipe 'engine-0\.14'"):
        load_recipe(find_release("0.14.7").row.engine.recipe)
