"""What many processes do to one store: ``share ROOT`` or ``kill ROOT SEED KILLS``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import filelock  # noqa: F401 - imported late by the store; children need not pay for it

from tests.forks import kill_child, lasting, moments, run_child
from vvbuild.fetch.store import Store
from vvbuild.model.digest import Digest
from vvbuild.runtime.cancel import Cancel

FILES = 40


def fill(directory: Path, number: int) -> None:
    """A tree with files of its own, files that all trees share, a link, and an empty folder."""
    for index in range(FILES):
        path = directory / f"d{index % 4}" / f"f{index}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"shared %d" % index if index % 2 else b"own %d %d" % (number, index))
        if index % 5 == 0:
            path.chmod(0o755)
    (directory / "link").symlink_to("d0/f0")
    (directory / "empty").mkdir()


def make(store: Store, number: int) -> None:
    """What a step does: fill a directory, store it, remember it, lay it out."""
    with store.scratch() as scratch:
        out = scratch / "out"
        out.mkdir()
        fill(out, number)
        tree = store.add_tree(out, Cancel())
        key = Digest.of_json(["step", number])
        store.write_record(key, {"tree": tree.digest.hex, "facts": {}, "number": number})
    store.checkout(tree)


def share(root: Path) -> None:
    """One of several processes that begin at once and make the same trees."""
    store = Store(root)
    store.prepare()
    for round_ in range(3):
        for number in range(6):
            make(store, number)
            tree = store.load_tree(Digest(store.record(Digest.of_json(["step", number]))["tree"]))
            assert tree is not None
            directory = store.checkout(tree)
            if round_ == number % 3:
                # Damage what the others look at: all of them must mend it, none may fail.
                (directory / "d1/f1").unlink(missing_ok=True)


def make_first(root: Path) -> None:
    store = Store(root)
    store.prepare()
    make(store, 0)


def work_until_killed(root: Path, start: int) -> None:
    store = Store(root)
    store.prepare()
    number = start
    while True:
        make(store, number % 50)
        number += 1


def kill(root: Path, seed: int, kills: int) -> None:
    """Print how many were killed, and how many of them while they had scratch."""
    # As long as two trees take on this machine, so that kills fall everywhere.
    once = lasting(lambda: make_first(root))
    moment, caught, halves = moments(seed, 2 * once), 0, 0
    for number in range(kills):
        caught += kill_child(lambda n=number: work_until_killed(root, n), moment())
        work = root / "v1" / "work"
        halves += work.is_dir() and any(work.iterdir())
    assert run_child(Store(root).prepare) == 0
    print(caught, halves, len(os.listdir(root / "v1" / "work")))


if __name__ == "__main__":
    {"share": share, "kill": kill}[sys.argv[1]](Path(sys.argv[2]), *map(int, sys.argv[3:]))
