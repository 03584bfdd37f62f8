"""Files carried to a machine without a network: nothing is believed on either side."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.manifest.conftest import tiny
from tests.server.http import LoopbackServer
from vvbuild import resources
from vvbuild.bundle.inputs import SourceFile
from vvbuild.bundle.wheels import shelved
from vvbuild.cli.main import main
from vvbuild.fetch.store import Store
from vvbuild.model.digest import Digest

__all__ = ["tiny"]

WHEELS = {"linux-1.23.2.whl": b"linux " * 1000, "win.whl": b"win " * 2000}
Machine = Callable[..., tuple[int, dict[str, Any]]]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def machine(
    tmp_path: Path,
    tiny: str,
    server: LoopbackServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Machine]:
    """Run a command on one of several machines, each with a store of its own."""
    releases = tmp_path / "own/releases"
    releases.mkdir(parents=True)
    # Without tools, which come from elsewhere.
    head, _, rest = tiny.partition("[tools]")
    text = head + rest[rest.index("[components.") :]
    text = text.replace(', "https://host.example/win.whl"', "")
    (releases / "tiny.toml").write_text(text.replace('max_size = "20MiB"\n', ""))
    monkeypatch.setattr("vvbuild.manifest.meaning._tool_problems", lambda release: ())
    monkeypatch.setenv("VVBUILD_MANIFESTS", str(tmp_path / "own"))
    monkeypatch.setenv("PIP_INDEX_URL", server.pypi("onnxruntime", WHEELS))
    needs = tmp_path / "requirements.txt"
    needs.write_text("")
    file = SourceFile("requirements.txt", needs, Digest.of_bytes(b""))
    monkeypatch.setattr("vvbuild.mirror.wheels.engine_files", lambda loaded: (file,))

    def run(*words: str | Path, store: str = "a") -> tuple[int, dict[str, Any]]:
        monkeypatch.setenv("VVBUILD_CACHE_DIR", str(tmp_path / store))
        status = main([*map(str, words), "--json", "-q"])
        return status, json.loads(capsys.readouterr().out)

    assert run("lock", "-r", "tiny")[0] == 0
    yield run
    resources.lay_over(None)


@pytest.fixture
def mirror(machine: Machine, tmp_path: Path) -> Path:
    """A mirror of the whole release."""
    assert machine("mirror", "export", tmp_path / "m", "-r", "tiny")[0] == 0
    return tmp_path / "m"


def place(mirror: Path, name: str) -> Path:
    hexadecimal = digest(WHEELS[name])
    return mirror / "files" / hexadecimal[:2] / hexadecimal


def edit(mirror: Path, of: str = "files", **changes: object) -> None:
    """Change the first file of the index, or its first manifest."""
    path = mirror / "vvbuild-mirror.json"
    index = json.loads(path.read_text())
    index[of][0] |= changes
    path.write_text(json.dumps(index))


def link_away(path: Path) -> None:
    """Put a link in the place of what lies there."""
    elsewhere = path.with_name(f"{path.name}-elsewhere")
    path.rename(path.parent.parent / elsewhere.name)
    path.symlink_to(path.parent.parent / elsewhere.name)


def test_what_was_carried_is_found_without_a_network(
    machine: Machine, mirror: Path, server: LoopbackServer
) -> None:
    server.requests.clear()

    status, said = machine("mirror", "import", mirror, store="b")
    assert (status, said["new"], said["bytes"]) == (0, 2, sum(map(len, WHEELS.values())))
    assert {each["sha256"] for each in said["artifacts"]} == set(map(digest, WHEELS.values()))
    assert machine("cache", "verify", store="b")[0] == 0
    # It asks nobody, and has nothing left to take.
    status, said = machine("mirror", "export", mirror, "-r", "tiny", "--offline", store="b")
    assert (status, said["new"]) == (0, 0)
    assert server.requests == []


def test_a_mirror_holds_only_the_targets_that_were_asked_for_and_grows(
    machine: Machine, tmp_path: Path
) -> None:
    mirror = tmp_path / "m"
    machine("mirror", "export", mirror, "-r", "tiny", "-t", "linux-x64-cpu")
    assert place(mirror, "linux-1.23.2.whl").is_file()
    assert not place(mirror, "win.whl").exists()

    machine("mirror", "export", mirror, "-r", "tiny", "-t", "win-x64-cpu")
    index = json.loads((mirror / "vvbuild-mirror.json").read_text())
    assert len(index["files"]) == 2
    assert [each["targets"] for each in index["releases"]] == [["linux-x64-cpu", "win-x64-cpu"]]


def test_the_same_release_gives_the_same_mirror(
    machine: Machine, mirror: Path, tmp_path: Path
) -> None:
    machine("mirror", "export", tmp_path / "again", "-r", "tiny", store="c")

    def content(directory: Path) -> dict[str, bytes]:
        files = (path for path in directory.rglob("*") if path.is_file())
        return {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}

    assert content(mirror) == content(tmp_path / "again")


def test_importing_twice_reads_nothing_twice(machine: Machine, mirror: Path) -> None:
    machine("mirror", "import", mirror, store="b")
    for name in WHEELS:
        place(mirror, name).write_bytes(b"changed meanwhile")

    status, said = machine("mirror", "import", mirror, store="b")
    assert (status, said["new"]) == (0, 0)


def test_other_bytes_are_refused_and_the_store_stays_clean(
    machine: Machine, mirror: Path, tmp_path: Path
) -> None:
    path = place(mirror, "win.whl")
    path.write_bytes(b"x" * path.stat().st_size)

    status, said = machine("mirror", "import", mirror, store="b")

    assert (status, said["error"]["code"]) == (4, "digest-mismatch")
    found = [path.name for path in (tmp_path / "b/v1/files").rglob("*") if path.is_file()]
    assert digest(WHEELS["win.whl"]) not in found


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (lambda m: place(m, "win.whl").write_bytes(b"short"), "size-mismatch"),
        (lambda m: place(m, "win.whl").unlink(), "mirror-invalid"),
        (lambda m: (m / "files/stranger").write_bytes(b"x"), "stranger-file"),
        (lambda m: (m / "vvbuild-mirror.json").unlink(), "mirror-invalid"),
        (lambda m: (m / "vvbuild-mirror.json").write_text("{"), "mirror-invalid"),
        (lambda m: edit(m, sha256="../../etc/passwd"), "mirror-invalid"),
        (lambda m: edit(m, size=-1), "mirror-invalid"),
        (lambda m: edit(m, size=1 << 60), "size-mismatch"),
        (lambda m: edit(m, sha256=digest(b"elsewhere")), "stranger-file"),
        (lambda m: edit(m, sha256=digest(WHEELS["win.whl"])), "mirror-invalid"),
        (lambda m: edit(m, path="/etc/passwd"), "mirror-invalid"),
        (lambda m: edit(m, name="../../etc/x"), "mirror-invalid"),
        (lambda m: edit(m, name="\x1b[2J"), "mirror-invalid"),
        (lambda m: link_away(m / "files"), "mirror-invalid"),
        (lambda m: (m / "manifests/targets.toml").write_text("x"), "digest-mismatch"),
        (lambda m: (m / "manifests/targets.toml").unlink(), "mirror-invalid"),
        (lambda m: link_away(m / "manifests/releases/tiny.toml"), "mirror-invalid"),
        (lambda m: edit(m, of="manifests", path="../x"), "mirror-invalid"),
        (lambda m: link_away(m / "vvbuild-mirror.json"), "mirror-invalid"),
    ],
)  # fmt: skip
def test_a_mirror_that_lies_is_refused(
    machine: Machine, mirror: Path, harm: Callable[[Path], object], code: str
) -> None:
    index = json.loads((mirror / "vvbuild-mirror.json").read_text())
    # The first row of the index is the one that is edited.
    if index["files"][0]["name"] == "win.whl":
        index["files"].reverse()
        (mirror / "vvbuild-mirror.json").write_text(json.dumps(index))
    harm(mirror)

    status, said = machine("mirror", "import", mirror, store="b")
    assert (status, said["error"]["code"]) == (4, code)


def test_a_link_in_a_mirror_is_never_followed(
    machine: Machine, mirror: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(WHEELS["win.whl"])
    place(mirror, "win.whl").unlink()
    place(mirror, "win.whl").symlink_to(secret)

    status, said = machine("mirror", "import", mirror, store="b")
    assert (status, said["error"]["code"]) == (4, "mirror-invalid")


def test_a_directory_that_is_no_mirror_is_left_alone(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/letter").write_text("dear")

    status, said = machine("mirror", "export", tmp_path / "docs", "-r", "tiny")
    assert (status, said["error"]["code"]) == (2, "output-not-ours")
    assert os.listdir(tmp_path / "docs") == ["letter"]


def test_an_interrupted_export_is_finished_by_running_it_again(
    machine: Machine, mirror: Path
) -> None:
    place(mirror, "win.whl").write_bytes(b"half")
    (mirror / "files/ab").mkdir(exist_ok=True)
    (mirror / "files/ab/.x.part").write_bytes(b"half")

    status, said = machine("mirror", "export", mirror, "-r", "tiny")
    assert (status, said["new"]) == (0, 1)
    assert machine("mirror", "import", mirror, store="b")[0] == 0


def test_what_is_not_locked_is_not_exported(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "own/locks/tiny.lock.json"
    lock = json.loads(path.read_text())
    for key in ("sha256", "size"):
        del lock["artifacts"][0][key]
    lock["artifacts"][0] |= {"unlocked": "nobody knows it", "max_size": 1 << 20}
    path.write_text(json.dumps(lock))

    status, said = machine("mirror", "export", tmp_path / "m", "-r", "tiny")
    assert (status, said["error"]["code"]) == (4, "lock-invalid")
    assert not (tmp_path / "m").exists()


def test_another_target_than_the_releases_is_named(machine: Machine, tmp_path: Path) -> None:
    status, said = machine("mirror", "export", tmp_path / "m", "-r", "tiny", "-t", "macos-x64-cpu")
    assert (status, said["error"]["code"]) == (2, "manifest-invalid")


# The engine's packages

TAGS = {
    "everywhere-1.0-py3-none-any.whl": b"everywhere",
    "native-2.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl": b"for Linux",
    "native-2.0-cp311-cp311-win_amd64.whl": b"for Windows",
    "native-2.0-cp310-cp310-manylinux_2_28_x86_64.whl": b"for another Python",
    "native-2.0.tar.gz": b"sources",
    "native-3.0-cp311-cp311-manylinux_2_17_x86_64.whl": b"another version",
}


@pytest.fixture
def packages(tmp_path: Path, server: LoopbackServer) -> dict[str, bytes]:
    """Two packages on the index, which the engine needs; the release takes Python 3.11 alone."""
    for project in ("everywhere", "native"):
        server.pypi(project, {name: body for name, body in TAGS.items() if project in name})
    lines = ["everywhere==1.0 " + hashed(b"everywhere"), "native==2.0 " + " ".join(
        hashed(body) for name, body in TAGS.items() if name.startswith("native-2.0"))]  # fmt: skip
    (tmp_path / "requirements.txt").write_text("\n".join(lines))
    path = tmp_path / "own/releases/tiny.toml"
    text = re.sub(r"(\[python\]\nrequires = ).*", r'\1">=3.11,<3.12"', path.read_text())
    path.write_text(text)
    return TAGS


def hashed(body: bytes) -> str:
    return f"--hash=sha256:{digest(body)}"


def carried(said: dict[str, Any]) -> set[str]:
    return {each["name"] for each in said["artifacts"]} & set(TAGS)


def test_the_engines_packages_travel_as_far_as_the_host_needs_them(
    machine: Machine, packages: dict[str, bytes], tmp_path: Path
) -> None:
    machine("lock", "-r", "tiny")
    status, said = machine("mirror", "export", tmp_path / "m", "-r", "tiny", "--host", "linux-x64")

    assert status == 0
    names = list(TAGS)
    assert carried(said) == {names[0], names[1]}
    row = next(each for each in said["artifacts"] if each["name"] == names[1])
    assert (row["component"], row["version"]) == ("native", "2.0")

    _, said = machine("mirror", "export", tmp_path / "m", "-r", "tiny", "--host", "win-x64")
    assert carried(said) == set(names[:3])


def test_what_was_imported_is_found_by_its_name(
    machine: Machine, packages: dict[str, bytes], tmp_path: Path, server: LoopbackServer
) -> None:
    machine("lock", "-r", "tiny")
    machine("mirror", "export", tmp_path / "m", "-r", "tiny", "--host", "linux-x64")
    assert machine("mirror", "import", tmp_path / "m", store="b")[0] == 0

    entry = shelved(Store(tmp_path / "b"), Digest(digest(b"for Linux")))
    assert entry is not None
    assert entry.path == list(TAGS)[1]
    # And it can be carried on from there, without asking anybody.
    server.requests.clear()
    words = ("mirror", "export", tmp_path / "m2", "-r", "tiny", "--host", "linux-x64", "--offline")
    status, said = machine(*words, store="b")
    assert (status, carried(said), server.requests) == (0, set(list(TAGS)[:2]), [])


def test_without_a_network_all_missing_packages_are_named(
    machine: Machine, packages: dict[str, bytes], tmp_path: Path
) -> None:
    machine("lock", "-r", "tiny")
    words = ("mirror", "export", tmp_path / "m", "-r", "tiny", "--host", "linux-x64", "--offline")
    status, said = machine(*words)

    assert (status, said["error"]["code"]) == (3, "offline")
    assert said["error"]["context"]["missing"] == "everywhere==1.0, native==2.0"


def test_a_package_without_a_wheel_for_a_host_is_named(
    machine: Machine, packages: dict[str, bytes], tmp_path: Path
) -> None:
    machine("lock", "-r", "tiny")
    words = ("mirror", "export", tmp_path / "m", "-r", "tiny", "--host", "macos-arm64")
    status, said = machine(*words)

    assert (status, said["error"]["code"]) == (4, "lock-invalid")
    assert "native==2.0 has no wheel for Python 3.11 on macos-arm64" in said["error"]["message"]


def test_a_host_that_is_none_is_refused(machine: Machine, tmp_path: Path) -> None:
    status, said = machine("mirror", "export", tmp_path / "m", "-r", "tiny", "--host", "beos-x64")

    assert (status, said["error"]["code"]) == (2, "usage")


# Space, time and other processes


def test_the_manifests_of_a_fork_are_in_the_mirror(
    machine: Machine, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine("mirror", "import", mirror, store="b")
    monkeypatch.setenv("VVBUILD_MANIFESTS", str(mirror / "manifests"))

    shutil.rmtree(tmp_path / "own")
    words = ("mirror", "export", tmp_path / "m2", "-r", "tiny", "--offline")
    status, said = machine(*words, store="b")
    assert (status, said["new"]) == (0, 2)


def test_a_full_disk_is_told_before_anything_is_copied(
    machine: Machine, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage._replace(free=1000))

    status, said = machine("mirror", "export", tmp_path / "m2", "-r", "tiny")
    assert (status, said["error"]["code"]) == (8, "disk-full")
    assert not (tmp_path / "m2/files").exists()
    status, said = machine("mirror", "import", mirror, store="b")
    assert (status, said["error"]["code"]) == (8, "disk-full")


_PROGRAM = """
import sys
sys.path.insert(0, {root!r})
from pathlib import Path
from vvbuild.bundle.inputs import SourceFile
from vvbuild.bundle.wheels import shelved
import vvbuild.manifest.meaning, vvbuild.mirror.wheels
from vvbuild.model.digest import Digest
vvbuild.manifest.meaning._tool_problems = lambda release: ()
file = SourceFile("requirements.txt", Path({needs!r}), Digest.of_bytes(b""))
vvbuild.mirror.wheels.engine_files = lambda loaded: (file,)
from vvbuild.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def start(machine: Machine, tmp_path: Path) -> Callable[..., subprocess.Popen[bytes]]:
    """Start a command as a process of its own."""
    root = str(Path(__file__).parents[2])
    program = _PROGRAM.format(root=root, needs=str(tmp_path / "requirements.txt"))

    def start(*words: str | Path, store: str = "a") -> subprocess.Popen[bytes]:
        environment = {**os.environ, "VVBUILD_CACHE_DIR": str(tmp_path / store)}
        return subprocess.Popen(
            [sys.executable, "-c", program, *words, "-q"], env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    return start


def test_two_exports_to_one_mirror_keep_each_others_rows(
    machine: Machine, start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    words = ("mirror", "export", tmp_path / "m", "-r", "tiny", "-t")
    both = [
        start(*words, "linux-x64-cpu", store="a"), start(*words, "win-x64-cpu", store="c"),
    ]  # fmt: skip

    assert [each.wait(60) for each in both] == [0, 0]
    index = json.loads((tmp_path / "m/vvbuild-mirror.json").read_text())
    assert len(index["files"]) == 2
    assert index["releases"][0]["targets"] == ["linux-x64-cpu", "win-x64-cpu"]


def test_killed_at_any_moment_a_mirror_is_finished_by_the_next_call(
    machine: Machine, start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    whole = machine("mirror", "export", tmp_path / "whole", "-r", "tiny")[1]
    randomly = random.Random(5)
    for kind, words in (
        ("export", ("mirror", "export", tmp_path / "m", "-r", "tiny")),
        ("import", ("mirror", "import", tmp_path / "whole")),
    ):
        for _ in range(4):
            child = start(*words, store="b")
            time.sleep(randomly.uniform(0.1, 0.6))
            child.kill()
            child.wait()
        status, said = machine(*words, store="b")
        assert status == 0, kind
        assert said["artifacts"] == whole["artifacts"]
    assert machine("mirror", "import", tmp_path / "m", store="d")[0] == 0
    assert machine("cache", "verify", store="b")[0] == 0
