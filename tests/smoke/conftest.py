import importlib.util
import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

import vvbuild
from vvbuild.model.events import silent
from vvbuild.runtime.cancel import Cancel
from vvbuild.smoke import cancelling, run
from vvbuild.smoke.checks import NotOfferedError
from vvbuild.smoke.result import SmokeOptions
from vvbuild.smoke.run import smoke

MANIFEST = {
    "manifest_version": "0.13.1", "name": "Stand-in", "brand_name": "Stand-in", "uuid": "u-1",
    "version": "1.2.3", "url": "", "command": "run", "port": 50021, "icon": "icon.png",
    "default_sampling_rate": 24000, "frame_rate": 93.75, "terms_of_service": "",
    "update_infos": "u.json", "dependency_licenses": "d.json", "supported_features": {},
}  # fmt: skip

QUICK = SmokeOptions(timeout=20, request_timeout=20, stop_timeout=5, trials=1)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Standin:
    """A bundle whose engine behaves as it is told."""

    def __init__(self, path):
        self.path = path

    def seen(self):
        try:
            return (self.path / "seen").read_text().splitlines()
        except FileNotFoundError:
            return []

    def told(self):
        """Command line and environment that the engine was started with."""
        return json.loads(self.seen()[0])

    def pids(self):
        names = (self.path / "pid", self.path / "child")
        return [int(name.read_text()) for name in names if name.exists()]

    def left_running(self):
        end = time.monotonic() + 5
        while (pids := [pid for pid in self.pids() if alive(pid)]) and time.monotonic() < end:
            time.sleep(0.02)
        return pids


@pytest.fixture
def standin(tmp_path):
    made = []

    def make(*, manifest=None, **behaviour):
        path = tmp_path / f"bundle{len(made)}"
        path.mkdir()
        (path / "engine_manifest.json").write_text(json.dumps(MANIFEST | (manifest or {})))
        (path / "behaviour.json").write_text(json.dumps(behaviour))
        program = Path(__file__).with_name("standin.py").read_text()
        (path / "run").write_text(f"#!{sys.executable}\n{program}")
        (path / "run").chmod(0o755)
        made.append(Standin(path))
        return made[-1]

    yield make
    for each in made:
        for pid in each.left_running():
            os.kill(pid, 9)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Where temporary directories go in this test."""
    directory = tmp_path / "tmp"
    directory.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    return directory


@pytest.fixture
def test_it(scratch):
    """Run a smoke test; every time, nothing may be left."""

    def test(bundle, options=QUICK, cancel=None):
        path = bundle.path if isinstance(bundle, Standin) else bundle
        try:
            return smoke(path, options, emit=silent, cancel=Cancel() if cancel is None else cancel)
        finally:
            if not options.keep:
                assert list(scratch.iterdir()) == []
            if isinstance(bundle, Standin):
                assert bundle.left_running() == []

    return test


@pytest.fixture
def short(monkeypatch):
    """Syntheses that are long enough for the stand-in, which leaves at once."""
    monkeypatch.setattr(cancelling, "_ENOUGH", 0.8)
    monkeypatch.setattr(cancelling, "_AIM", 1.2)


@pytest.fixture
def no_cancel(monkeypatch):
    """Leave the longest check out."""

    def refuse(*_):
        raise NotOfferedError("left out")

    monkeypatch.setattr(run, "measure_cancel", refuse)


@pytest.fixture(scope="session")
def sample_bundle(tmp_path_factory):
    """The sample engine, not frozen, laid out as a bundle."""
    root = tmp_path_factory.mktemp("sample") / "見本 bundle"
    package = Path(vvbuild.__file__).parent
    shutil.copytree(
        package / "sample_engine", root, ignore=shutil.ignore_patterns("__pycache__", "tools")
    )
    licences = root / "resources/engine_manifest_assets/dependency_licenses.json"
    licences.write_text("[]")
    spec = importlib.util.find_spec("onnxruntime")
    capi = Path(spec.submodule_search_locations[0]) / "capi"
    library = next(path for path in capi.iterdir() if path.name.startswith("libonnxruntime.so"))
    shutil.copy(library, root / "libonnxruntime.so")
    program = root / "run"
    program.write_text(
        f"#!/bin/sh\nPYTHONPATH={package.parent} PYTHONDONTWRITEBYTECODE=1 "
        f'exec {sys.executable} "$(dirname "$0")/run.py" "$@"\n'
    )
    program.chmod(0o755)
    return root
