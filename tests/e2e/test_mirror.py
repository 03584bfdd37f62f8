"""A bundle on a machine without a network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import TARGET, Built, vvbuild

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(1200)]

# Nobody answers there; whatever asks an index fails at once.
NOWHERE = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "npm_config_registry": "http://127.0.0.1:9/"}


def test_a_bundle_made_from_a_mirror_alone_is_the_same(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror, empty = tmp_path / "mirror", tmp_path / "empty store"
    done = vvbuild("mirror", "export", mirror, "-t", TARGET, "--json", store=built.store)
    assert done.returncode == 0, done.stdout
    for name, value in NOWHERE.items():
        monkeypatch.setenv(name, value)

    done = vvbuild(
        "bundle", "-t", TARGET, "-o", tmp_path / "out", "--offline", "--json", store=empty
    )
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (3, "offline")

    assert vvbuild("mirror", "import", mirror, store=empty).returncode == 0
    done = vvbuild(
        "bundle", "-t", TARGET, "-o", tmp_path / "out", "--offline", "--json", store=empty
    )

    assert done.returncode == 0, done.stdout
    digests = {Path(row["path"]).name: row["sha256"] for row in json.loads(done.stdout)["archives"]}
    assert digests == {Path(row["path"]).name: row["sha256"] for row in built.document["archives"]}
