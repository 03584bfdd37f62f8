"""What archives hold, in the lock: for the core's downloader, which is held against it."""

from __future__ import annotations

import errno
import io
import json
import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fetch.archives import FOLDER, LINK, Zipped, zip_bytes
from tests.locking.conftest import ARTIFACTS, COMPONENTS, Bench, digest
from tests.locking.worlds import lock_of_bench, manifest_of
from tests.server.faults import Cut, Stall
from tests.server.github import LoopbackGitHub
from tests.server.http import LoopbackServer
from tests.standins.scene import ACCEPTED, QUICK
from tests.standins.world import GENERATIONS, TARGETS, World, members_of
from vvbuild.errors import (
    ArchiveLayoutError,
    CancelledError,
    DiskFullError,
    HostileArchiveError,
    LockDriftError,
    LockError,
)
from vvbuild.fetch.downloader import run_downloader, wanted_parts
from vvbuild.fetch.trust import Trust
from vvbuild.locking import means, members, read
from vvbuild.model.events import Note
from vvbuild.model.target import Target
from vvbuild.runtime.cancel import Cancel

pytestmark = pytest.mark.skipif(os.name == "nt", reason="archives are listed where modes are kept")
CORE, NAME = "VOICEVOX/voicevox_core", "core-linux-x64-cpu-0.16.2.zip"
ZIP = zip_bytes(
    Zipped("top/", mode=FOLDER | 0o755),
    Zipped("top/lib/", mode=FOLDER | 0o755),
    Zipped("top/lib/real.so", b"real", mode=0o100755),
    Zipped("top/lib/plain.so", b"real.so", mode=LINK | 0o777),
    Zipped("top/VERSION", b""),
    Zipped("top/empty/", mode=FOLDER | 0o755),
)
LISTED = {
    "core/VERSION": ("e3b0c442", 0, False, None),
    "core/lib/plain.so": (None, 0, False, "real.so"),
    "core/lib/real.so": ("aa33996d", 4, True, None),
}


@pytest.fixture
def bench(server: LoopbackServer, write: Callable[[str], Path], tiny: str, trust: Trust) -> Bench:
    """A release of one core, which its downloader puts into a folder."""
    head, _, _ = tiny.partition("[components.onnxruntime]")
    components, _, _ = COMPONENTS.partition("[components.models]")
    rows, _, _ = ARTIFACTS.partition('[[artifacts]]\ncomponent = "models"')
    text = (head + components + rows).replace('source = "github"', 'source = "core-downloader"')
    text = text.replace(
        'max_size = "1MiB"', 'max_size = "1MiB"\nunpack = "strip-top"\ninto = "core"'
    )
    return Bench(write(text.replace(', "win-x64-cpu"', "")), server, trust)


@pytest.fixture
def hub(github: LoopbackGitHub) -> LoopbackGitHub:
    github.release(CORE, "0.16.2", {NAME: ZIP})
    return github


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where scratch directories are made: nothing may be left there."""
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr(means.tempfile, "tempdir", str(place))
    return place


def members_told(bench: Bench) -> dict[str, tuple[str | None, int, bool, str | None]]:
    (artifact,) = lock_of_bench(bench).artifacts
    return {
        path: (it.sha256 and it.sha256[:8], it.size, it.program, it.link)
        for path, it in artifact.members.items()
    }


# The whole way


@pytest.mark.parametrize("core", GENERATIONS)
def test_the_lock_lists_for_every_target_what_each_downloader_must_leave(
    core: str,
    github: LoopbackGitHub,
    server: LoopbackServer,
    tmp_path: Path,
    tiny: str,
    write: Callable[[str], Path],
    trust: Trust,
) -> None:
    place = tmp_path / "world"
    place.mkdir()
    world = World(github, core, place).publish()
    bench = Bench(write(manifest_of(world, tiny)), server, trust)

    bench.lock(download=True)

    lock = lock_of_bench(bench)
    seen = set()
    for target in TARGETS:
        parts = wanted_parts(lock.for_target(Target.parse(target)))
        for component, part in parts.items():
            seen.add((target, component))
            assert dict(part.members) == members_of(world.direct[target, component]), component
    assert seen == set(world.direct)
    target = "linux-x64-cuda"
    request = replace(
        world.request(target), parts=wanted_parts(lock.for_target(Target.parse(target)))
    )
    work = tmp_path / "work"
    work.mkdir()
    delivered = run_downloader(
        world.install(), request, work, cancel=Cancel(), consent=ACCEPTED, limits=QUICK
    )
    assert set(delivered) == {component for name, component in seen if name == target}
    assert bench.check(download=True).problems == ()


# What is noted


def test_files_programs_and_links_are_noted_by_their_path_in_the_components_tree(
    hub: LoopbackGitHub, bench: Bench, rooms: Path
) -> None:
    (change,) = bench.lock(download=True).changes

    assert members_told(bench) == LISTED
    assert change.kind == "added"
    row = bench.rows[NAME]
    assert row["members"]["core/lib/plain.so"] == {"link": "real.so"}
    assert row["provenance"]["members"] == "unpacked by `strip-top` into core"
    assert list(rooms.iterdir()) == []


def test_without_download_no_archive_is_read_and_the_refusal_says_how_it_would_be(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()

    assert "members" not in bench.rows[NAME]
    assert hub.downloads(NAME) == 0
    with pytest.raises(LockError) as caught:
        wanted_parts(lock_of_bench(bench).artifacts)
    assert "`vvbuild lock --download`" in (caught.value.hint or "")


def test_members_that_are_missing_are_added_by_download_and_stay(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    assert [each.kind for each in bench.lock(download=True).changes] == ["changed"]
    before = bench.path.read_bytes()
    asked = len(hub.server.requests)

    assert [each.kind for each in bench.lock().changes] == ["unchanged"]
    assert bench.path.read_bytes() == before
    assert len(hub.server.requests) == asked
    assert [each.kind for each in bench.lock(download=True).changes] == ["unchanged"]
    bench.edit(NAME, size=None, max_size=1 << 20)
    bench.lock()
    assert members_told(bench) == LISTED


@pytest.mark.parametrize(
    ("old", "new"), [('"strip-top"', '"whole"'), ('into = "core"', 'into = "lib"')]
)
def test_an_archive_that_is_unpacked_otherwise_is_looked_into_again(
    old: str, new: str, hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock(download=True)
    bench.manifest.write_text(bench.manifest.read_text().replace(old, new))

    bench.lock()
    assert members_told(bench) == {}
    bench.lock(download=True)
    assert set(members_told(bench)) in (
        {f"core/top/{path}" for path in ("VERSION", "lib/plain.so", "lib/real.so")},
        {f"lib/{path}" for path in ("VERSION", "lib/plain.so", "lib/real.so")},
    )


@pytest.mark.parametrize("row", ['unpack = "no"', 'source = "github"'])
def test_what_the_downloader_does_not_unpack_is_not_listed(
    row: str, hub: LoopbackGitHub, bench: Bench
) -> None:
    text = bench.manifest.read_text()
    old = 'unpack = "strip-top"' if "unpack" in row else 'into = "core"'
    bench.manifest.write_text(text.replace(old, row))

    bench.lock(download=True)

    assert hub.downloads(NAME) == 1
    assert "members" not in bench.rows[NAME]


def test_members_of_other_bytes_go_with_them(hub: LoopbackGitHub, bench: Bench) -> None:
    bench.lock(download=True)
    hub.replace(CORE, "0.16.2", NAME, zip_bytes(Zipped("top/only", b"1")))

    bench.lock(accept_drift=(NAME,))
    assert "members" not in bench.rows[NAME]
    bench.lock(download=True)
    assert list(members_told(bench)) == ["core/only"]


def test_where_modes_are_not_kept_nothing_wrong_is_listed(
    hub: LoopbackGitHub, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "CAN_LIST", False)

    bench.lock(download=True)

    assert "members" not in bench.rows[NAME]
    (warning,) = [each for each in bench.events if isinstance(each, Note)]
    assert "not looked into" in warning.text


# Drift


def test_the_check_finds_members_that_are_not_those_of_the_archive(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock(download=True)
    members = dict(bench.rows[NAME]["members"])
    members["core/VERSION"] = {"sha256": "1" * 64, "size": 5}
    members["core/more"] = members.pop("core/lib/real.so")
    bench.edit(NAME, members=members)
    before = bench.path.read_bytes()

    assert bench.check().problems == ()
    (problem,) = bench.check(download=True).problems

    assert (problem.kind, problem.artifact) == ("other-members", NAME)
    assert problem.message == (
        "Changed: core/VERSION; not locked: core/lib/real.so; gone: core/more"
    )
    with pytest.raises(LockDriftError, match="other members"):
        bench.lock(download=True)
    assert bench.path.read_bytes() == before
    bench.lock(download=True, accept_drift=(NAME,))
    assert members_told(bench) == LISTED


def test_what_was_replaced_is_not_unpacked(
    hub: LoopbackGitHub, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.lock(download=True)
    hub.replace(CORE, "0.16.2", NAME, b"no archive at all")
    monkeypatch.setattr(read, "list_members", None)

    (problem,) = bench.check(download=True).problems
    assert problem.kind == "replaced"
    with pytest.raises(LockDriftError, match="other bytes"):
        bench.lock(download=True)


# Trouble


@pytest.mark.parametrize(
    ("archive", "kind"),
    [
        (zip_bytes(Zipped("top/../../evil", b"x")), HostileArchiveError),
        (zip_bytes(Zipped("top/link", b"/etc/passwd", mode=LINK | 0o777)), HostileArchiveError),
        (ZIP[:-30], HostileArchiveError),
        (b"<!doctype html>", None),
        (b"plain words", HostileArchiveError),
        (zip_bytes(Zipped("one/a", b"a"), Zipped("two/b", b"b")), ArchiveLayoutError),
    ],
)
def test_an_archive_that_cannot_be_unpacked_is_not_locked(
    archive: bytes, kind: type | None, hub: LoopbackGitHub, bench: Bench, rooms: Path
) -> None:
    hub.release(CORE, "0.16.2", {NAME: archive})

    with pytest.raises(Exception) as caught:
        bench.lock(download=True)

    assert caught.value.code == ("network" if kind is None else kind.code)
    assert not bench.path.exists()
    assert list(rooms.iterdir()) == []


def test_an_archive_of_too_many_members_is_refused(
    hub: LoopbackGitHub, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "_MOST", 2)

    with pytest.raises(ArchiveLayoutError, match="3 members"):
        bench.lock(download=True)


def test_an_archive_that_is_cut_once_is_read_again_from_its_beginning(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    """Cut after more than what is read at once, so that some of it was written."""
    bench.manifest.write_text(bench.manifest.read_text().replace('"1MiB"', '"9MiB"'))
    large = random.Random(1).randbytes(2 << 20)
    hub.replace(CORE, "0.16.2", NAME, zip_bytes(Zipped("top/large", large)))
    path = next(path for path in reversed(hub.storage.resources) if path.endswith(NAME))
    hub.storage.resources[path].script.append(Cut(3 << 19))

    bench.lock(download=True)

    assert hub.downloads(NAME) == 2
    assert bench.rows[NAME]["members"] == {
        "core/large": {"sha256": digest(large), "size": len(large)}
    }


def test_an_interruption_leaves_no_archive_behind(
    hub: LoopbackGitHub, bench: Bench, rooms: Path
) -> None:
    path = next(path for path in hub.storage.resources if path.endswith(NAME))
    hub.storage.resources[path].script.append(Stall(40))
    caught: list[BaseException] = []

    def work() -> None:
        try:
            bench.lock(download=True)
        except CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not hub.downloads(NAME):
        thread.join(0.01)
    bench.cancel.set()
    thread.join(30)

    assert len(caught) == 1
    assert list(rooms.iterdir()) == []
    assert not bench.path.exists()


def test_a_full_disk_is_named_and_is_no_news_about_the_file(
    hub: LoopbackGitHub, bench: Bench, monkeypatch: pytest.MonkeyPatch, rooms: Path
) -> None:
    bench.lock()
    bench.edit(NAME, sha256=None, size=None, unlocked="nobody knows", max_size=1 << 20)

    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    plain = Path.open
    monkeypatch.setattr(
        Path, "open", lambda self, *a, **k: Full() if self.name == NAME else plain(self, *a, **k)
    )
    with pytest.raises(DiskFullError, match="look into"):
        bench.lock(download=True)
    assert list(rooms.iterdir()) == []
    bench.lock(download=True, keep_going=True)
    assert bench.rows[NAME]["unlocked"] == "nobody knows"


def test_scratch_lies_where_the_caller_wants_it(
    hub: LoopbackGitHub, bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`vvbuild lock` takes the store's disk, which is meant for gigabytes."""
    used = []

    @contextmanager
    def room() -> Iterator[Path]:
        place = tmp_path / "room"
        place.mkdir()
        yield place
        used.extend(sorted(each.name for each in place.iterdir()))

    bench.scratch = room
    bench.lock(download=True)

    assert used == ["archive", "tree"]
    assert json.loads(bench.path.read_bytes())["artifacts"][0]["members"]
