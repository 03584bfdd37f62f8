"""Real libraries, each tree with the one thing wrong that it is about."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import real_trees
from vvbuild.binary.gpu_code import read_gpu_code

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("name", real_trees.CASES)
def test_a_real_tree_has_the_finding_that_it_is_about_and_no_other(name: str) -> None:
    case = real_trees.CASES[name]
    for each in [*case.of, *filter(None, case.instead[:1])]:
        real_trees.unpacked(each)
    # On the disk of the libraries, so that a link is enough.
    with tempfile.TemporaryDirectory(dir=real_trees.cache()) as folder:
        found, _ = real_trees.findings(case, real_trees.lay_out(case, Path(folder)))

    assert list(real_trees.differences(case, found)) == []


_TOLD = real_trees.read_toml("gpu_architectures.toml")
_LIBRARIES = [(wheel, row) for wheel, rows in _TOLD.items() for row in rows]


@pytest.mark.parametrize(
    ("wheel", "row"), _LIBRARIES, ids=[f"{wheel}-{row['library']}" for wheel, row in _LIBRARIES]
)
def test_the_architectures_of_a_real_library_are_those_that_nvidias_tool_lists(
    wheel: str, row: dict[str, Any]
) -> None:
    code = read_gpu_code(real_trees.unpacked(wheel) / row["library"])

    assert code is not None
    # The tool tells no `f` of machine code.
    sass: Counter[str] = Counter()
    for arch, count in code.counts("sass").items():
        sass[arch.removesuffix("f")] += count
    assert (sass, code.counts("ptx")) == (row["sass"], row["ptx"])
    assert code.unknown == 0
