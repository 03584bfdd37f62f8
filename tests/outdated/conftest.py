"""A small release, a policy, and sources of versions on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.fetch.conftest import session, trust, waits
from tests.manifest.conftest import tiny
from tests.server.http import LoopbackServer
from vvbuild.manifest.policy import load_policy
from vvbuild.manifest.release import LoadedRelease, load_release
from vvbuild.model.policy import Policy

__all__ = ["session", "tiny", "trust", "waits"]

NOW = datetime(2026, 12, 1, 12, tzinfo=timezone.utc)
POLICY = """\
schema = "vvbuild.policy/1"
[default]
series = "minor"
prereleases = false
min_age = "7d"
"""
PARTS = """
[components.onnxruntime]
version = "1.23.2"              # the last with macOS on x64
source = "pypi"
flavour = "pypi"

[components.pyinstaller]
version = '6.17.0'
source = "pypi"

[[artifacts]]
component = "onnxruntime"
targets = ["linux-*"]
references = ["pypi:onnxruntime/{version}/onnxruntime-{version}-py3-none-linux_x86_64.whl"]

[[artifacts]]
component = "onnxruntime"
targets = ["win-x64-cpu"]
references = ["pypi:onnxruntime/{version}/onnxruntime-{version}-py3-none-win_amd64.whl"]

[[artifacts]]
component = "pyinstaller"
targets = ["*"]
references = ["pypi:pyinstaller/{version}/pyinstaller-{version}.tar.gz"]
"""
WHEELS = ("{name}-{version}-py3-none-linux_x86_64.whl", "{name}-{version}-py3-none-win_amd64.whl")
SDIST = ("{name}-{version}.tar.gz",)


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


@pytest.fixture
def policy(tmp_path: Path) -> Callable[[str], Policy]:
    """The default policy, with more tables if wanted."""

    def policy(more: str = "") -> Policy:
        path = tmp_path / "policy.toml"
        path.write_text(POLICY + more)
        return load_policy(path)

    return policy


@pytest.fixture
def text(tiny: str) -> str:
    """A manifest called ``tiny.toml`` with ONNX Runtime and PyInstaller from PyPI."""
    return tiny[: tiny.index("[components.onnxruntime]")].rstrip() + "\n" + PARTS


@pytest.fixture
def release(tmp_path: Path, text: str) -> Callable[[str], LoadedRelease]:
    """Write and load a manifest, by default the small one, in a directory of its own."""

    def release(manifest: str = text, name: str = "tiny") -> LoadedRelease:
        path = tmp_path / "manifests" / f"{name}.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(manifest.encode())
        return load_release(path)

    return release


def serve_pypi(
    server: LoopbackServer,
    project: str,
    versions: Mapping[str, datetime | None],
    names: tuple[str, ...] = WHEELS,
    *,
    yanked: tuple[str, ...] = (),
) -> None:
    """Serve versions of a project with these files."""
    files = [
        {
            "filename": name.format(name=project.replace("-", "_"), version=version),
            "yanked": version in yanked,
            "upload-time": time.strftime("%Y-%m-%dT%H:%M:%SZ") if time else None,
        }
        for version, time in versions.items()
        for name in names
    ]
    page = {"meta": {"api-version": "1.1"}, "name": project, "files": files}
    server.serve(
        f"/simple/{project}/", json.dumps(page).encode(),
        content_type="application/vnd.pypi.simple.v1+json",
    )  # fmt: skip


def serve_npm(
    server: LoopbackServer, package: str, versions: Mapping[str, datetime | None]
) -> None:
    """Serve versions of a package."""
    document = {
        "versions": {version: {} for version in versions},
        "time": {version: time.isoformat() for version, time in versions.items() if time},
    }
    server.serve(f"/npm/{package}", json.dumps(document).encode(), content_type="application/json")
