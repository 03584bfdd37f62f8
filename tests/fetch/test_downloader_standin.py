"""The stand-in keeps to the contract, faults included; the tests of the fetcher rest on it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.server.faults import Cut, Status
from tests.server.github import LoopbackGitHub
from tests.server.http import Resource
from tests.standins.downloader import REPOSITORIES, parse
from tests.standins.notes import library_in, terms_in, write_notes
from tests.standins.world import LIBRARIES, World

ROWS = [
    ("Linux", "x86_64", ["CUDA", "CPU"], "https://e.invalid/1", "cuda.tgz"),
    ("Linux", "x86_64", ["CPU"], "https://e.invalid/2", "cpu.tgz"),
    ("Linux", "x86_64", ["CPU"], "https://e.invalid/3", "second.tgz"),
    ("Windows", "x86_64", ["DirectML", "CPU"], "https://e.invalid/4", "dml.tgz"),
    ("macOS", "AArch64", ["CPU"], "https://e.invalid/5", "mac.tgz"),
]


def run(
    world: World, *arguments: str, answer: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    program = world.install()
    program.path.chmod(0o755)
    output = world.directory / "out"
    return subprocess.run(
        [program.path, *arguments, "--output", output],
        input=answer,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], **environment},
    )


def world_of(github: LoopbackGitHub, core: str, place: Path) -> World:
    return World(github, core, place).publish(("linux-x64-cpu", "linux-x64-cuda"))


@pytest.mark.parametrize(
    ("generation", "arguments"),
    [
        ("flat", ["--only", "c-api"]),
        ("flat", ["--device", "vulkan"]),
        ("first", ["--only", "c-api", "--min"]),
        ("first", ["--only", "c-api", "--exclude", "dict"]),
        ("first", ["--min", "--additional-libraries-version", "0.2.1"]),
        ("first", ["--models-pattern", "*"]),
        ("first", ["--tries", "3"]),
        ("tries", ["--only", "core"]),
        ("tries", ["--onnxruntime-type", "onnxruntime"]),
        ("tries", ["--os", "android"]),
        ("tries", ["--tries", "many"]),
        ("semver", ["--onnxruntime-version", "voicevox_onnxruntime-1.17.3"]),
        ("semver", ["--c-api-version", "latest"]),
    ],
)
def test_arguments_of_other_generations_end_with_2(generation: str, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(generation, arguments)

    assert caught.value.code == 2


def test_a_row_of_the_table_has_every_device_and_the_fewest_others() -> None:
    notes = write_notes(ROWS, "a < b & c")

    assert library_in(notes, "linux", "x64", ["cuda"]) == "cuda.tgz"
    assert library_in(notes, "linux", "x64", None) == "cpu.tgz"
    assert library_in(notes, "linux", "x64", ["cpu", "cuda"]) == "cuda.tgz"
    assert library_in(notes, "windows", "x64", ["directml"]) == "dml.tgz"
    assert terms_in(notes) == "a < b & c"
    assert terms_in(write_notes(ROWS, None)) is None
    with pytest.raises(ValueError, match="could not find"):
        library_in(notes, "osx", "x64", None)
    with pytest.raises(ValueError, match="found 2"):
        library_in(notes + notes, "linux", "x64", None)


def test_up_to_0_15_everything_lies_in_one_directory(
    github: LoopbackGitHub, tmp_path: Path
) -> None:
    world = world_of(github, "0.15.9", tmp_path)

    done = run(world, "--device", "cuda", "--os", "linux")

    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"VERSION", "EULA.txt", "open_jtalk_dic_utf_8-1.11", "model"} <= names
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))


def test_without_a_version_the_newest_release_is_taken(
    github: LoopbackGitHub, tmp_path: Path
) -> None:
    world = world_of(github, "0.15.9", tmp_path)
    github.release(REPOSITORIES["c_api"], "0.99.0", {})
    github.release(REPOSITORIES["c_api"], "1.0.0", {}, prerelease=True)

    done = run(world, "--min", "--os", "linux")

    assert done.returncode == 1
    assert "0.99.0" in done.stderr


@pytest.mark.parametrize(
    ("answer", "status"),
    [("y\n", 0), ("YES\n", 0), ("r\ny\n", 0), ("n\n", 1), ("No\n", 1), ("perhaps\n", 1), ("", 1)],
)
def test_it_asks_once_for_all_terms(
    github: LoopbackGitHub, tmp_path: Path, answer: str, status: int
) -> None:
    world = world_of(github, "0.16.2", tmp_path)

    done = run(world, "--only", "models", "--only", "onnxruntime", "--os", "linux", answer=answer)

    assert done.returncode == status, done.stderr
    shown = 2 if answer.startswith("r") else 1
    assert done.stderr.count("[y,n,r]") == shown
    assert done.stdout.count("音声モデル 利用規約") == 2 * shown
    assert done.stdout.index("許諾内容") < done.stdout.index("禁止事項")
    assert (tmp_path / "out").exists() == (status == 0)


def test_links_and_execute_bits_are_lost(github: LoopbackGitHub, tmp_path: Path) -> None:
    world = world_of(github, "0.17.0", tmp_path)

    done = run(world, "--only", "onnxruntime", "--os", "linux", answer="y\n")

    assert done.returncode == 0, done.stderr
    out = tmp_path / "out" / "onnxruntime"
    assert not (out / "lib" / "libvoicevox_onnxruntime.so").exists()
    assert (out / "bin" / "onnx_test_runner").stat().st_mode & 0o111 == 0


def test_the_libraries_are_looked_up_though_they_are_not_wanted(
    github: LoopbackGitHub, tmp_path: Path
) -> None:
    world = world_of(github, "0.17.0", tmp_path)
    github.release(REPOSITORIES["additional_libraries"], LIBRARIES, {})

    done = run(world, "--only", "c-api", "--os", "linux", "--devices", "cuda")

    assert done.returncode == 1
    assert "CUDA-linux-x64.zip" in done.stderr


@pytest.mark.parametrize(
    ("core", "used"), [("0.16.0", "Bearer second"), ("0.16.2", "Bearer first")]
)
def test_the_token_is_read_from_the_variables_of_its_time(
    github: LoopbackGitHub, tmp_path: Path, core: str, used: str
) -> None:
    world = world_of(github, core, tmp_path)

    run(world, "--only", "c-api", "--os", "linux", GH_TOKEN="first", GITHUB_TOKEN="second")

    asked = [each for each in github.server.requests if each.path.startswith("/api/")]
    assert {each.headers.get("authorization") for each in asked} == {used}


def stored(github: LoopbackGitHub, name: str) -> Resource:
    """What the storage serves as an asset of that name."""
    found = github.storage.resources.items()
    return next(each for path, each in found if path.endswith(f"/{name}"))


@pytest.mark.parametrize(("core", "status", "times"), [("0.16.0", 1, 1), ("0.16.2", 0, 2)])
def test_what_it_repeats_is_a_whole_target(
    github: LoopbackGitHub, tmp_path: Path, core: str, status: int, times: int
) -> None:
    world = world_of(github, core, tmp_path)
    stored(github, "1.vvm").script.append(Cut(10))

    done = run(world, "--only", "models", "--os", "linux", answer="y\n")

    assert done.returncode == status, done.stderr
    assert github.downloads("0.vvm") == times


def test_what_comes_before_the_download_is_never_repeated(
    github: LoopbackGitHub, tmp_path: Path
) -> None:
    world = world_of(github, "0.17.0", tmp_path)
    github.play(REPOSITORIES["c_api"], "0.17.0", Status(502))

    done = run(world, "--only", "c-api", "--c-api-version", "0.17.0", "--os", "linux")

    assert done.returncode == 1
    assert github.asked(REPOSITORIES["c_api"], "0.17.0") == 1


def test_nobody_looks_at_the_status_of_a_download(github: LoopbackGitHub, tmp_path: Path) -> None:
    world = world_of(github, "0.17.0", tmp_path)
    stored(github, "0.vvm").always = Status(404, body=b"Not Found")

    done = run(world, "--only", "models", "--os", "linux", answer="y\n")

    assert done.returncode == 0
    assert (tmp_path / "out" / "models" / "vvms" / "0.vvm").read_bytes() == b"Not Found"


@pytest.mark.parametrize(
    ("core", "complaint"), [("0.16.0", "invalid archive"), ("0.16.2", "is no zip")]
)
def test_an_archive_is_told_by_its_first_bytes_from_0_16_1_on(
    github: LoopbackGitHub, tmp_path: Path, core: str, complaint: str
) -> None:
    world = world_of(github, core, tmp_path)
    name = f"voicevox_core-linux-x64-{world.core}.zip"
    stored(github, name).always = Status(404, body=b"Not Found")

    done = run(world, "--only", "c-api", "--os", "linux")

    assert done.returncode == 1
    assert complaint in done.stderr


def test_the_models_are_those_of_its_range_and_pattern(
    github: LoopbackGitHub, tmp_path: Path
) -> None:
    world = world_of(github, "0.16.2", tmp_path)
    files = {"README.txt": b"# VOICEVOX", "TERMS.txt": b"# VOICEVOX", "new.vvm": b"x"}
    github.release(REPOSITORIES["models"], "0.17.0", files)
    github.release(REPOSITORIES["models"], "0.16.9", files, prerelease=True)

    done = run(
        world, "--only", "models", "--models-pattern", "[!n]*", "--os", "linux", answer="y\n"
    )

    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "out" / "models" / "vvms").iterdir()}
    assert names == {"0.vvm", "1.vvm", "s0.vvm"}
