"""The command line, inside the test's process and as a program of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vvbuild.cli.main import main

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Said:
    """How a command line ended, and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on standard output."""
        assert self.err == ""
        assert self.out.count("\n") == 1
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A store and a working directory of the test's own, and the signals as they were."""
    for name in [name for name in os.environ if name.startswith("VVBUILD_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("VVBUILD_CACHE_DIR", str(tmp_path / "store"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run a command line in this process."""

    def say(*words: str) -> Said:
        status = main(words)
        return Said(status, *capsys.readouterr())

    return say


def program(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command line as a user does."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | options.pop("env", {})
    return subprocess.run(
        [sys.executable, "-m", "vvbuild", *map(str, words)],
        env=environment,
        **{"capture_output": True, "text": True, "timeout": 60, "check": False, **options},
    )
