"""``bootloader build`` as people call it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from vvbuild.cli.main import main
from vvbuild.manifest.bootloader import bootloader_table, find_sdist, newest_pyinstaller
from vvbuild.manifest.release import find_release


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, dict[str, Any]]:
    status = main(["bootloader", *map(str, words), "--json"])
    return status, json.loads(capsys.readouterr().out)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VVBUILD_CACHE_DIR", str(tmp_path / "store"))
    return tmp_path / "store"


@pytest.mark.network
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_a_repeated_build_is_not_done_again_and_gives_the_same_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("build", "--target", "linux-x64-cpu", "--cc", "gcc", "--out", tmp_path / "out")
    status, first = run(capsys, *words)
    assert status == 0
    (file,) = first["files"]
    path = Path(file["path"])
    assert (file["machine"], file["exports"], file["variant"]) == ("x64", {}, "release")
    assert first["pyinstaller"] == find_release("sample").row.components["pyinstaller"].version
    assert first["compiler"]["sha256"]
    assert path.stat().st_mode & 0o777 == 0o755
    # What lies there is a copy: an edit does not reach back into the store.
    path.write_bytes(b"edited")

    status, second = run(capsys, *words, "--offline")

    assert status == 0
    assert all(step["cached"] for step in second["steps"])
    assert second["files"] == first["files"]
    assert main(["bootloader", "verify", str(path)]) == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--pyinstaller", "6.99.0"), "manifest-invalid", "There is no PyInstaller"),
        (("--variant", "green"), "usage", "There is no variant 'green'"),
        (("--variant", "windowed"), "usage", "for Windows and macOS, not for linux-x64"),
        (("--cc", "msvc"), "host-tool-missing", "MSVC runs on Windows only"),
        (("--cc", "nowhere-cc"), "host-tool-missing", "There is no compiler nowhere-cc"),
        (("--offline",), "offline", "offline"),
    ],
)
def test_what_cannot_be_built_is_said_before_any_work(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    code: str,
    said: str,
) -> None:
    out = tmp_path / "out"
    status, told = run(capsys, "build", "--target", "linux-x64-cpu", "--out", out, *words)

    assert status == told["error"]["exit"] != 70
    assert told["error"]["code"] == code
    assert said in told["error"]["message"]
    assert not out.exists()


def test_a_windowed_bootloader_for_macos_is_not_for_zig(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ("--target", "macos-arm64-cpu", "--variant", "all", "--out", tmp_path / "out")
    status, told = run(capsys, "build", *words)

    assert status == 5
    assert "--cc clang" in told["error"]["hint"]


def test_a_file_is_no_directory_to_build_into(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("mine")
    words = ("--target", "linux-x64-cpu", "--out", tmp_path / "out")
    status, told = run(capsys, "build", *words)

    assert told["error"]["code"] == "output-not-ours"
    assert status != 0
    assert (tmp_path / "out").read_text() == "mine"


def test_every_row_is_an_artifact() -> None:
    artifacts = [find_sdist(version) for version in bootloader_table().sdist]

    assert len({each.sha256 for each in artifacts}) == len(artifacts) >= 8
    for each in artifacts:
        assert each.references[0].version == each.version
        assert each.references[0].file.lower() == f"pyinstaller-{each.version}.tar.gz"
        assert each.size is not None
    assert newest_pyinstaller() == "6.22.3"


def test_the_table_and_the_samples_lock_name_the_same_bytes() -> None:
    release = find_release("sample")
    (pinned,) = (each for each in release.artifacts if each.component == "pyinstaller")
    sdist = find_sdist(pinned.version)

    assert sdist.references == pinned.references
    assert sdist.name == pinned.name
