from __future__ import annotations

from pathlib import Path

from vvbuild.fetch.store import Store
from vvbuild.host.doctor import examine


def test_only_releases_that_can_be_built_ask_for_a_python(tmp_path: Path) -> None:
    """Pythons of 2023 must not be missed by who builds the sample."""
    names = [check.name for check in examine(Store(tmp_path)).checks]

    assert [name for name in names if name.startswith("python for")] == ["python for sample"]
