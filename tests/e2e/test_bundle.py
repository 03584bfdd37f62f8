"""The main job on real input."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import psutil
import pytest

from tests.e2e.conftest import TARGET, Built, vvbuild
from vvbuild.binary.elf import read_elf

pytestmark = [pytest.mark.network, pytest.mark.xdist_group("e2e"), pytest.mark.timeout(1200)]

NAMES = {
    "vvbuild_sample-linux-x64-cpu-0.1.0.vvpp",
    "vvbuild_sample-linux-x64-cpu-0.1.0.vvpp.txt",
    "vvbuild_sample-linux-x64-cpu-0.1.0.7z.001",
    "vvbuild_sample-linux-x64-cpu-0.1.0.7z.txt",
}


def unpack(built: Built, where: Path) -> Path:
    program = [built.seven_zip, "x", "-y", f"-o{where}", built.vvpp]
    subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
    return where


def test_the_json_names_steps_artifacts_and_archives_with_their_digests(built: Built) -> None:
    document = built.document
    assert document["schema"] == "vvbuild.output/1"
    assert document["command"] == "bundle"
    assert document["ok"] is True
    for step in document["steps"]:
        assert set(step) >= {"name", "key", "cached", "seconds"}
    assert {row["component"] for row in document["artifacts"]} >= {"onnxruntime", "pyinstaller"}
    assert {Path(row["path"]).name for row in document["archives"]} == NAMES
    for row in document["archives"]:
        data = Path(row["path"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (row["size"], row["sha256"])
    assert document["findings"] == []


def test_the_output_directory_holds_archives_lists_and_sums_and_nothing_else(built: Built) -> None:
    shown = {path.name for path in built.out.iterdir() if not path.name.startswith(".")}
    assert shown == NAMES | {"SHA256SUMS"}
    subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=built.out, check=True)
    for name, part in (("vvpp", "vvpp"), ("7z", "7z.001")):
        (listed,) = built.out.glob(f"*.{name}.txt")
        assert listed.read_text().split() == [path.name for path in built.out.glob(f"*.{part}")]


def test_seven_zip_is_happy_with_both_archives(built: Built) -> None:
    for archive in (built.vvpp, *built.out.glob("*.7z.001")):
        subprocess.run([built.seven_zip, "t", archive], check=True, stdout=subprocess.DEVNULL)


def test_a_second_run_does_no_step_again_and_leaves_the_files_alone(built: Built) -> None:
    shown = [path for path in built.out.iterdir() if not path.name.startswith(".")]
    before = {path: path.stat().st_mtime_ns for path in shown}
    done = vvbuild("bundle", "-t", TARGET, "-o", built.out, "--json", store=built.store)
    document = json.loads(done.stdout)
    assert [step["name"] for step in document["steps"] if not step["cached"]] == []
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_the_vvpp_is_what_the_editor_demands(built: Built) -> None:
    with zipfile.ZipFile(built.vvpp) as archive:
        manifest = json.loads(archive.read("engine_manifest.json"))
        mode = archive.getinfo(manifest["command"]).external_attr >> 16
    assert manifest["command"] == "run"
    assert manifest["version"] == "0.1.0"
    assert mode & 0o111
    assert all(
        {"type", "value", "name"} <= set(it) for it in manifest["supported_features"].values()
    )


def test_the_bundle_verifies_as_archive_and_as_directory(built: Built, tmp_path: Path) -> None:
    for path in (built.vvpp, unpack(built, tmp_path / "bundle")):
        done = vvbuild("verify", path, "--json", store=built.store)
        assert done.returncode == 0, done.stdout
        assert json.loads(done.stdout)["findings"] == []


def test_the_frozen_program_carries_our_bootloader_and_a_stock_one_is_found(
    built: Built, tmp_path: Path
) -> None:
    bundle = unpack(built, tmp_path / "bundle")
    described = json.loads((bundle / "vvbuild.json").read_text())["bootloader"]
    assert described["pyinstaller"] == "6.22.3"
    assert (described["compiler"]["name"], described["compiler"]["version"]) == ("zig", "0.17.1")
    # Any other program's machine code is not that of the bootloader that was built.
    shutil.copy("/bin/true", bundle / "run")
    done = vvbuild("verify", bundle, "--json", store=built.store)
    rules = {finding["rule"] for finding in json.loads(done.stdout)["findings"]}
    assert done.returncode == 1
    assert rules == {"bootloader-not-ours", "content-differs"}


def test_nothing_of_the_build_machine_is_in_the_bundle(built: Built, tmp_path: Path) -> None:
    bundle = unpack(built, tmp_path / "bundle")
    needles = [str(built.store).encode(), b"/v1/work/", str(Path.home()).encode() + b"/.cache"]
    for path in bundle.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert not [needle for needle in needles if needle in data], path
            if data.startswith(b"\x7fELF"):
                facts = read_elf(path)
                search = facts.runpath or facts.rpath
                assert all(each.startswith("$ORIGIN") for each in search), (path, search)


def test_the_sample_speaks_cancels_and_stops(built: Built, tmp_path: Path) -> None:
    wav = tmp_path / "hello.wav"
    done = vvbuild("smoke", built.vvpp, "--json", "--wav", wav, store=built.store)
    document = json.loads(done.stdout)
    assert done.returncode == 0, document
    assert document["ort_version"] == "1.23.2"
    assert 0 < document["first_answer_s"] < 60
    assert document["speech_bytes"] > 10_000
    assert document["cancel"]["trials"] >= 1
    assert document["cancel"]["max_ms"] > 0
    assert wav.read_bytes()[:4] == b"RIFF"


def test_another_directory_umask_and_time_zone_give_the_same_archives(
    built: Built, tmp_path: Path
) -> None:
    """Only what was fetched is kept of the store: every step that makes something runs again."""
    store = forgetful_copy(built, tmp_path / "別の store")
    room = tmp_path / "another directory 日本"
    room.mkdir()
    old = os.umask(0o077)
    try:
        done = vvbuild(
            *("bundle", "-t", TARGET, "-o", "out", "--json", "-q"),
            store=store,
            cwd=room,
            env={"TZ": "Pacific/Kiritimati", "LANG": "C", "PYTHONPATH": str(Path.cwd())},
        )
    finally:
        os.umask(old)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (room / "out/SHA256SUMS").read_text() == (built.out / "SHA256SUMS").read_text()
    document = json.loads(done.stdout)
    assert not any(step["cached"] for step in document["steps"] if step["name"] == "freeze")


@pytest.mark.parametrize("step", ["bootloader", "freeze"])
def test_ctrl_c_ends_soon_with_status_130_and_leaves_no_child(
    built: Built, tmp_path: Path, step: str
) -> None:
    store = forgetful_copy(built, tmp_path / "store")
    with subprocess.Popen(
        [sys.executable, "-m", "vvbuild", "bundle", "-t", TARGET, "-o", tmp_path / "out"],
        env=os.environ | {"VVBUILD_CACHE_DIR": str(store)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if f"{step} …" in line:
                break
        children: list[psutil.Process] = []
        deadline = time.monotonic() + 120
        while not children and time.monotonic() < deadline:
            # The step's first child comes when its inputs are laid out.
            time.sleep(0.2)
            children = psutil.Process(process.pid).children(recursive=True)
        assert children
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        rest = process.stdout.read()
        assert process.wait() == 130
        # Two seconds on an idle machine; the tests share theirs.
        assert time.monotonic() - asked < 6.0
    assert "interrupted" in rest
    assert not [child for child in children if alive(child)]
    assert not list((store / "v1" / "work").iterdir())


def alive(process: psutil.Process) -> bool:
    """Whether it still runs; a zombie is dead, and waits for init to look at it."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def forgetful_copy(built: Built, store: Path) -> Path:
    """A store that holds the files that were fetched and uv's cache, and no step's result."""
    base = store / "v1"
    fetched = {row["sha256"] for row in built.document["artifacts"]}
    for digest in fetched:
        source = built.store / "v1" / "files" / digest[:2] / digest
        target = base / "files" / digest[:2] / digest
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(source, target)
    shutil.copy(built.store / "CACHEDIR.TAG", store)
    shutil.copytree(built.store / "v1" / "uv", base / "uv", symlinks=True)
    return store
