"""The core's downloader of every generation, for every target: the same tree as the direct way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.server.github import LoopbackGitHub
from tests.standins.scene import ACCEPTED, QUICK
from tests.standins.world import GENERATIONS, TARGETS, World
from vvbuild.fetch.downloader import run_downloader
from vvbuild.fetch.store import Store
from vvbuild.model.digest import Digest
from vvbuild.runtime.cancel import Cancel


def tree_digest(store: Store, directory: Path, scratch: Path) -> Digest:
    shutil.copytree(directory, scratch, symlinks=True)
    return store.add_tree(scratch, Cancel()).digest


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    store.prepare()
    return store


@pytest.mark.parametrize("core", GENERATIONS)
def test_both_ways_give_the_same_trees_for_all_targets(
    core: str, github: LoopbackGitHub, tmp_path: Path, store: Store
) -> None:
    (tmp_path / "world").mkdir()
    world = World(github, core, tmp_path / "world").publish()
    program = world.install()
    for target in TARGETS:
        work = tmp_path / f"work-{target}"
        work.mkdir()
        request = world.request(target)

        delivered = run_downloader(
            program, request, work, cancel=Cancel(), consent=ACCEPTED, limits=QUICK
        )

        assert set(delivered) == set(request.parts)
        for component, delivery in delivered.items():
            wanted = tree_digest(
                store, world.direct[target, component], tmp_path / f"{target}-{component}"
            )
            assert delivery.tree.digest == wanted, (target, component)
            assert store.add_tree(delivery.directory, Cancel()).digest == wanted
