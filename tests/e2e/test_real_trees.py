"""Real libraries, each tree with the one thing wrong that it is about."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests import real_trees

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
