"""A bundle in miniature with real programs in it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.makers.vvm import vvm_bytes
from tests.rules.bundle.good import MANIFEST, PAPERS
from vvbuild.binary.elf import section_digest
from vvbuild.bundle.describe import describe_files


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``run``, and ``libonnxruntime.so`` with a SONAME, for the processor of this machine."""
    folder = tmp_path_factory.mktemp("programs")
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    (folder / "x.c").write_text(
        "int main(void) { return 0; }\nint OrtGetApiBase(void) { return 42; }\n"
    )
    subprocess.run([compiler, "x.c", "-o", "run"], cwd=folder, check=True)
    soname = "-Wl,-soname,libonnxruntime.so.1.23.2"
    subprocess.run(
        [compiler, "-shared", "-fPIC", soname, "x.c", "-o", "libonnxruntime.so"],
        cwd=folder, check=True,
    )  # fmt: skip
    return folder


def describe(bundle: Path) -> None:
    """Write the vvbuild.json of what lies there."""
    about = {
        "schema": "vvbuild.bundle/1",
        "target": "linux-x64-cpu",
        "engine": {"version": "1.0"},
        "components": {"onnxruntime": "1.23.2"},
        "bootloader": {"text_sha256": section_digest(bundle / "run", ".text").hex},
        "files": describe_files(bundle),
    }
    (bundle / "vvbuild.json").write_text(json.dumps(about, ensure_ascii=False))


@pytest.fixture
def make_bundle(tmp_path: Path, programs: Path) -> Callable[[], Path]:
    """Lay out a good bundle; called again, another one."""
    count = 0

    def make() -> Path:
        nonlocal count
        count += 1
        bundle = tmp_path / f"bundle{count}"
        (bundle / "model").mkdir(parents=True)
        shutil.copy(programs / "run", bundle / "run")
        shutil.copy(programs / "libonnxruntime.so", bundle / "libonnxruntime.so")
        (bundle / "engine_manifest.json").write_text(json.dumps(MANIFEST))
        for name, data in PAPERS.items():
            (bundle / name).parent.mkdir(exist_ok=True)
            (bundle / name).write_bytes(data)
        (bundle / "model/声.vvm").write_bytes(vvm_bytes())
        (bundle / "empty").mkdir()
        (bundle / "link").symlink_to("model")
        describe(bundle)
        return bundle

    return make


@pytest.fixture
def bundle(make_bundle: Callable[[], Path]) -> Path:
    return make_bundle()
