"""What many processes do to one store.

``share``, ``come``, ``clean``, ``hold`` or ``closed ROOT``, ``limit ROOT ACTION``,
``kill ROOT SEED KILLS`` or ``prune ROOT SEED KILLS``.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import filelock  # noqa: F401 - imported late by the store; children need not pay for it

from tests.forks import kill_child, lasting, moments, run_child
from vvbuild.errors import VvbuildError
from vvbuild.fetch.housekeeping import clean
from vvbuild.fetch.store import Store
from vvbuild.fetch.store.prune import prune
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
                with suppress(FileNotFoundError):
                    (directory / "d1").chmod(0o755)
                    (directory / "d1/f1").unlink()


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


def hold(root: Path) -> None:
    """Use the store until standard input ends."""
    store = Store(root)
    store.prepare()
    print("ready", flush=True)
    sys.stdin.read()


def add_file(store: Store, work: Path) -> None:
    (work / "f").write_bytes(b"f")
    store.add_file(work / "f", Digest.of_bytes(b"f"))
    store.write_record(Digest.of_bytes(b"k"), {"facts": "x" * 4000})


def add_tree(store: Store, work: Path) -> None:
    out = work / "out"
    out.mkdir()
    for index in range(40):
        (out / f"{index}").write_bytes(b"%d" % index)
    store.add_tree(out, Cancel())


def export(store: Store, work: Path) -> None:
    (path,) = (store.base / "trees").glob("??/*.json")
    tree = store.load_tree(Digest(path.stem))
    assert tree is not None
    store.export(tree, work / "copy", link=False)


ACTIONS = ("add_file", "add_tree", "export")


def limit(root: Path, action: int) -> None:
    """Do something while no file may grow beyond 1,000 bytes; print the error's code."""
    import resource

    store = Store(root)
    store.prepare()
    with store.scratch() as work:
        out = work / "large"
        out.mkdir()
        (out / "f").write_bytes(b"x" * 5000)
        store.add_tree(out, Cancel())
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        print(code_of(lambda: globals()[ACTIONS[action]](store, work)))


def closed(root: Path) -> None:
    """Use a store that somebody else owns; print the errors' codes."""
    mine = Store(root)
    mine.prepare()
    for path in [root, *root.rglob("*")]:
        path.chmod(0o555)
    place = root.parent / "mine"
    place.mkdir()
    place.chmod(0o777)
    if os.geteuid() == 0:
        for parent in (root, *root.parents):
            # Tests' directories are closed to others; this one's is gone soon.
            parent.chmod(parent.stat().st_mode | 0o055)
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    store = Store(root)
    (place / "f").write_bytes(b"f")
    for work in (
        store.prepare,
        lambda: store.add_file(place / "f", Digest.of_bytes(b"f")),
        lambda: store.write_record(Digest.of_bytes(b"k"), {}),
        lambda: store.scratch().__enter__(),
    ):
        print(code_of(work))


def code_of(work: Callable[[], object]) -> str:
    """The code of the typed error that something ends with."""
    try:
        work()
    except VvbuildError as error:
        return error.code
    return "done"


def prune_all(root: Path) -> None:
    prune(Store(root), max_size=0)


def prune_and_kill(root: Path, seed: int, kills: int) -> None:
    """Print how many were killed, and the least and most trees that they left."""

    def refill() -> None:
        store = Store(root)
        store.prepare()
        for number in range(6):
            make(store, number)

    run_child(refill)
    moment, caught, left = moments(seed, lasting(lambda: prune_all(root))), 0, []
    # How long it takes was measured once; on a busy machine it takes longer by and by.
    stretch = 1.0
    for _ in range(kills):
        assert run_child(refill) == 0
        caught += kill_child(lambda: (prune_all(root), time.sleep(60)), moment() * stretch)
        left.append(len(list((root / "v1" / "trees").glob("??/*.json"))))
        stretch *= {6: 1.4, 0: 0.8}.get(left[-1], 1.0)
        for path in (root / "v1" / "trees").glob("??/*.json"):
            # First the lists, then the files: what is still listed is whole.
            assert Store(root).load_tree(Digest(path.stem)) is not None
    print(caught, min(left), max(left))


def come_and_go(root: Path) -> None:
    """Work with the store for short whiles, in which nobody may delete anything."""
    for number in range(15):
        store = Store(root)
        store.prepare()
        make(store, number % 3)
        tree = store.load_tree(Digest(store.record(Digest.of_json(["step", number % 3]))["tree"]))
        assert tree is not None
        assert len(list(store.checkout(tree).iterdir())) == 6
        store.leave()


def clean_often(root: Path) -> None:
    """Clean and prune all the time; print how often it could be done."""
    done = 0
    while not (root.parent / "enough").exists():
        for delete in (lambda: clean(Store(root)), lambda: prune(Store(root), max_size=0)):
            done += code_of(delete) == "done"
    print(done)


PROGRAMS = {
    "come": come_and_go, "clean": clean_often,
    "share": share, "hold": hold, "closed": closed, "limit": limit, "kill": kill,
    "prune": prune_and_kill,
}  # fmt: skip

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](Path(sys.argv[2]), *map(int, sys.argv[3:]))
