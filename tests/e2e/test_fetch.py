"""`vvbuild lock` and `vvbuild fetch` on a whole small GitHub: both ways end in the same trees."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.server.github import LoopbackGitHub
from tests.server.http import LoopbackServer
from tests.standins.world import LIBRARIES, ORT, TARGETS, World
from vvbuild import resources
from vvbuild.cli.main import main
from vvbuild.manifest.targets import host_platform

ASSET = "voicevox_core-{core_os}-{core_arch}-{core_device}-{version}.zip"
CORES = ("0.14.0", "0.16.0", "0.16.2", "0.17.0")
# The driver's own tests have all generations; this one adds the command line.
QUICK = ("0.14.0", "0.17.0")
CORE = "VOICEVOX/voicevox_core"
REFUSALS = ("digest-mismatch", "size-mismatch", "stranger-file", "member-missing")
HEAD = """\
schema = "vvbuild.release/1"
name = "world"
summary = "A small world"
extends = "{extends}"
targets = {targets}
[engine]
version = "0.0.1"
commit = "0123456789012345678901234567890123456789"
recipe = "sample"
time = 2026-11-30T00:00:00Z
[python]
requires = ">=3.10"
[components.pyinstaller]
version = "6.17.0"
[components.core]
version = "{core}"
[components.downloader]
version = "{core}"
[components.additional-libraries]
version = "{libraries}"
[components.resource]
version = "0.0.1"
"""
PARTS = """\
[components.onnxruntime]
version = "{ort}"
[components.models]
version = "{models}"
pattern = "[!n]*"
[components.cuda]
version = "12.2.2"
[components.cudnn]
version = "8.9.2.26"
[components.directml]
version = "1.13.1"
"""
# Up to 0.15 the downloader brings two components; ONNX Runtime and models are inside the core.
FLAT = """\
[components.core]
source = "core-downloader"
version = "{core}"
[components.additional-libraries]
source = "core-downloader"
version = "{libraries}"
targets = ["*-cuda", "*-directml"]
[components.downloader]
source = "github"
version = "{core}"

[[artifacts]]
component = "core"
targets = ["*"]
references = ["github:VOICEVOX/voicevox_core@{{version}}/{asset}"]
unpack = "strip-top"
max_size = "10MiB"

[[artifacts]]
component = "downloader"
targets = ["*"]
references = ["github:VOICEVOX/voicevox_core@{{version}}/{program}"]
unpack = "no"
max_size = "10MiB"

[[artifacts]]
component = "additional-libraries"
targets = ["*-cuda", "*-directml"]
references = ["github:VOICEVOX/voicevox_additional_libraries@{{version}}/{{libraries}}.zip"]
unpack = "strip-top"
max_size = "10MiB"
"""


@dataclass
class Stage:
    """A machine that is configured to use the world, and has a release of it."""

    world: World
    root: Path
    server: LoopbackServer
    capture: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def run(self, *words: str, store: str = "store") -> tuple[int, dict[str, Any]]:
        self.monkeypatch.setenv("VVBUILD_CACHE_DIR", str(self.root / store))
        status = main([*words, "--json", "-q"])
        return status, json.loads(self.capture.readouterr().out)

    def fetch(self, target: str, *words: str, store: str) -> tuple[int, dict[str, Any]]:
        # Without the tools, which come from elsewhere.
        parts = sorted({name for its, name in self.world.direct if its == target})
        only = [word for name in parts for word in ("--only", name)]
        return self.run("fetch", "-r", "world", "-t", target, *only, *words, store=store)


@pytest.fixture
def stage(
    tmp_path: Path,
    server: LoopbackServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Callable[[str], Stage]]:
    """Publish the world of a core, and write a release that takes everything from it."""
    github = LoopbackGitHub(server, storage=server)
    for name, value in {
        "GITHUB_API_URL": github.api,
        "VVBUILD_GITHUB_URL": github.web,
        "GITHUB_TOKEN": "ghp_secret",
        "PIP_INDEX_URL": server.pypi("pyinstaller", {"pyinstaller-6.17.0.tar.gz": b"sdist"}),
        "VVBUILD_MANIFESTS": str(tmp_path / "own"),
        "VVBUILD_STATE_DIR": str(tmp_path / "state"),
    }.items():
        monkeypatch.setenv(name, value)

    def stage(core: str) -> Stage:
        (tmp_path / "world").mkdir()
        world = World(github, core, tmp_path / "world").publish()
        program = world.install()
        mine = program.contract.executable(host_platform())
        for name in program.contract.core.executables.values():
            github.replace(CORE, core, name, b"for another machine")
        github.replace(CORE, core, mine, program.path.read_bytes())
        flat = world.generation == "flat"
        facts = {
            "core": core, "ort": ORT, "libraries": LIBRARIES, "program": mine,
            "models": "" if flat else world.models, "targets": json.dumps(TARGETS),
            "asset": ASSET, "extends": "_voicevox" if flat else "_core-downloader",
        }  # fmt: skip
        head = HEAD.format(**facts)
        if flat:
            head = head.partition("[components.core]")[0] + (
                '[components.resource]\nversion = "0.0.1"\n'
            )
        text = head + (FLAT if flat else PARTS).format(**facts)
        releases = tmp_path / "own/releases"
        releases.mkdir(parents=True)
        (releases / "world.toml").write_text(text, encoding="utf-8")
        return Stage(world, tmp_path, server, capsys, monkeypatch)

    yield stage
    resources.lay_over(None)


@pytest.mark.parametrize(
    "core", [pytest.param(core, marks=[pytest.mark.slow] * (core not in QUICK)) for core in CORES]
)
def test_both_fetchers_give_the_same_trees_for_every_target(
    stage: Callable[[str], Stage], core: str
) -> None:
    machine = stage(core)
    status, locked = machine.run("lock", "-r", "world", "--download")
    assert (status, locked["ok"]) == (0, True), locked

    for target in TARGETS:
        trees = {}
        for way in ("direct", "downloader"):
            words = ("--fetcher", way, "--accept-terms")
            status, said = machine.fetch(target, *words, store=way)
            assert status == 0, said
            trees[way] = {each["component"]: each["tree"] for each in said["components"]}
            assert {each["fetcher"] for each in said["components"]} == {way}
        assert trees["direct"] == trees["downloader"]
        assert set(trees["direct"]) == {
            name for its_target, name in machine.world.direct if its_target == target
        }


def test_terms_are_shown_and_asked_for_once(stage: Callable[[str], Stage]) -> None:
    machine = stage("0.16.2")
    machine.run("lock", "-r", "world")

    status, said = machine.fetch("linux-x64-cpu", store="a")
    assert (status, said["error"]["code"]) == (6, "terms-not-accepted")
    assert "組み込みできます" in str(said["error"]["context"])
    assert "逆コンパイル" in str(said["error"]["context"])

    assert machine.fetch("linux-x64-cpu", "--accept-terms", store="a")[0] == 0
    # From now on.
    assert machine.fetch("win-x64-cuda", store="a")[0] == 0


def test_one_text_can_be_accepted_by_its_digest(stage: Callable[[str], Stage]) -> None:
    machine = stage("0.16.2")
    machine.run("lock", "-r", "world")
    _, said = machine.fetch("linux-x64-cpu", store="a")
    digests = [key.split()[1] for key in said["error"]["context"] if key.startswith("terms ")]

    assert len(digests) == 2
    assert machine.fetch("linux-x64-cpu", "--accept-terms", digests[0], store="a")[0] == 6
    both = [word for each in digests for word in ("--accept-terms", each)]
    assert machine.fetch("linux-x64-cpu", *both, store="a")[0] == 0


def test_no_environment_accepts_terms(stage: Callable[[str], Stage]) -> None:
    machine = stage("0.16.2")
    machine.run("lock", "-r", "world")
    machine.monkeypatch.setenv("VVBUILD_ACCEPT_TERMS", "locked")

    assert machine.fetch("linux-x64-cpu", store="a")[0] == 6


def test_a_lock_that_does_not_tell_what_archives_hold_leaves_only_the_direct_way(
    stage: Callable[[str], Stage],
) -> None:
    machine = stage("0.16.2")
    machine.run("lock", "-r", "world")

    status, said = machine.fetch("linux-x64-cpu", "--accept-terms", store="a")
    assert status == 0
    assert "does not tell what" in said["direct_because"]
    status, said = machine.fetch("linux-x64-cpu", "--fetcher", "downloader", store="b")
    assert (status, said["error"]["code"]) == (4, "lock-invalid")
    assert "vvbuild lock" in said["error"]["hint"]


def test_without_a_lock_of_its_texts_a_release_still_shows_them(
    stage: Callable[[str], Stage],
) -> None:
    machine = stage("0.16.2")
    machine.run("lock", "-r", "world")
    path = machine.root / "own/locks/world.lock.json"
    lock = json.loads(path.read_bytes())
    for row in lock["artifacts"]:
        for key in ("sha256", "size", "terms"):
            row.pop(key, None)
        row |= {"unlocked": "nobody knows it", "max_size": 10 << 20, "provenance": {}}
    path.write_text(json.dumps(lock))
    for text in (path.parent / "terms").iterdir():
        text.unlink()

    assert machine.fetch("linux-x64-cpu", store="a")[0] == 4
    status, said = machine.fetch("linux-x64-cpu", "--allow-unlocked", store="a")
    assert (status, said["error"]["code"]) == (6, "terms-not-accepted")
    assert "組み込みできます" in str(said["error"]["context"])
    assert machine.fetch("linux-x64-cpu", "--allow-unlocked", "--accept-terms", store="a")[0] == 0


def test_what_was_fetched_once_needs_no_network(stage: Callable[[str], Stage]) -> None:
    machine = stage("0.16.2")
    machine.run("lock", "-r", "world")
    target = "linux-x64-cuda"
    _, first = machine.fetch(target, "--accept-terms", store="a")
    machine.server.requests.clear()

    status, again = machine.fetch(target, "--offline", store="a")

    assert status == 0
    assert [each["tree"] for each in again["components"]] == [
        each["tree"] for each in first["components"]
    ]
    assert all(each["cached"] for each in again["components"])
    assert machine.server.requests == []
    status, said = machine.fetch(target, "--offline", store="empty")
    assert (status, said["error"]["code"]) == (3, "offline")
    assert machine.server.requests == []


def test_components_are_laid_out_for_people(stage: Callable[[str], Stage], tmp_path: Path) -> None:
    machine = stage("0.16.2")
    machine.run("lock", "-r", "world")
    out = tmp_path / "out"

    assert machine.fetch("linux-x64-cpu", "--accept-terms", "--out", str(out), store="a")[0] == 0

    assert sorted(path.name for path in out.iterdir()) == ["core", "models", "onnxruntime"]
    assert (out / "models/vvms/0.vvm").is_file()
    assert not (out / "models/vvms/n0.vvm").exists()
    library = out / "onnxruntime/lib/libvoicevox_onnxruntime.so"
    assert library.is_symlink()
    assert library.resolve().is_file()
    # What is laid out is nobody's link into the store.
    assert library.resolve().stat().st_nlink == 1
    status, said = machine.fetch("linux-x64-cpu", "--out", str(out), store="a")
    assert (status, said["error"]["code"]) == (2, "output-not-ours")


def test_a_component_without_files_is_named_with_those_that_have_some(
    stage: Callable[[str], Stage],
) -> None:
    machine = stage("0.16.2")
    machine.run("lock", "-r", "world")

    status, said = machine.run(
        "fetch", "-r", "world", "-t", "linux-x64-cpu", "--only", "onxruntime", "--accept-terms"
    )
    assert (status, said["error"]["code"]) == (2, "unknown-name")
    assert "did you mean onnxruntime?" in said["error"]["message"]


def test_a_replaced_archive_is_refused_by_both_ways(stage: Callable[[str], Stage]) -> None:
    machine = stage("0.16.2")
    machine.run("lock", "-r", "world", "--download")
    (name,) = (
        each
        for each in machine.world.github._repositories[CORE]["0.16.2"].assets
        if each.startswith("voicevox_core-linux-x64")
    )
    other = next(
        each.body
        for key, each in machine.world.github._repositories[CORE]["0.16.2"].assets.items()
        if key.startswith("voicevox_core-windows")
    )
    machine.world.github.replace(CORE, "0.16.2", name, other)

    for way, store in (("direct", "a"), ("downloader", "b")):
        status, said = machine.fetch(
            "linux-x64-cpu", "--fetcher", way, "--accept-terms", store=store
        )
        assert status == 4, said
        assert said["error"]["code"] in REFUSALS
