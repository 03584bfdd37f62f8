from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from vvbuild.bundle.publish import claim_directory, publish
from vvbuild.errors import OutputNotOursError, StoreCorruptError
from vvbuild.fetch.store import Store
from vvbuild.model.digest import Digest
from vvbuild.pipeline.step import Made
from vvbuild.runtime.cancel import Cancel

ROOT = Path(__file__).resolve().parent.parent.parent
Make = Callable[[dict[str, bytes]], Made]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    store.prepare()
    return store


@pytest.fixture
def make(store: Store, tmp_path: Path) -> Make:
    """What a step made: these files."""
    count = 0

    def make(files: dict[str, bytes]) -> Made:
        nonlocal count
        count += 1
        folder = tmp_path / f"made{count}"
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        return Made(store.add_tree(folder, Cancel()), {}, 0.0)

    return make


@pytest.fixture
def out(tmp_path: Path) -> Path:
    directory = tmp_path / "out"
    claim_directory(directory)
    return directory


def shown(out: Path) -> dict[str, bytes]:
    """What a user sees of the directory."""
    return {p.name: p.read_bytes() for p in out.iterdir() if not p.name.startswith(".")}


def sums(**files: bytes) -> bytes:
    return "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())
    ).encode()


# Claiming


def test_a_new_directory_becomes_ours(tmp_path: Path) -> None:
    claim_directory(tmp_path / "deep/out")
    claim_directory(tmp_path / "deep/out")

    assert shown(tmp_path / "deep/out") == {}


def test_an_empty_directory_becomes_ours(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    claim_directory(tmp_path / "out")


def test_a_directory_of_somebody_else_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")

    with pytest.raises(OutputNotOursError, match="nothing was changed") as caught:
        claim_directory(tmp_path)

    assert caught.value.exit_status == 2
    assert "--out" in caught.value.hint
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"thesis.txt": "mine"}


def test_a_directory_with_only_hidden_files_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()

    with pytest.raises(OutputNotOursError):
        claim_directory(tmp_path)


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")

    with pytest.raises(OutputNotOursError, match="is a file"):
        claim_directory(tmp_path / "out")


def test_a_directory_that_was_being_claimed_when_we_were_killed_is_ours(tmp_path: Path) -> None:
    (tmp_path / "..vvbuild-out.x1.part").write_bytes(b"vv")

    claim_directory(tmp_path)


READ_ONLY = """
import os, sys
from pathlib import Path
from vvbuild.bundle.publish import claim_directory
from vvbuild.errors import from_os_error
out = Path(sys.argv[1])
if os.geteuid() == 0:
    os.chown(out, 65534, 65534)
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
out.chmod(0o555)
try:
    claim_directory(out)
except OSError as error:
    shown = from_os_error(error, "write there")
    print(shown.code, int(shown.exit_status), os.listdir(out))
"""


def test_a_directory_that_may_not_be_written_is_told_before_any_work() -> None:
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, out], cwd=ROOT, check=True, capture_output=True,
            text=True,
        )  # fmt: skip

    assert done.stdout == "permission-denied 8 []\n"


# Publishing


def test_files_and_their_sums_are_put_there(store: Store, make: Make, out: Path) -> None:
    files = {"x.vvpp": b"zip", "x.vvpp.txt": b"x.vvpp\n"}

    published = publish([make(files)], store, out, Cancel())

    assert shown(out) == {**files, "SHA256SUMS": sums(**files)}
    assert [(p.path.name, p.size, p.sha256) for p in published] == [
        (name, len(data), Digest.of_bytes(data)) for name, data in sorted(files.items())
    ]


def test_sums_of_other_targets_are_kept(store: Store, make: Make, out: Path) -> None:
    publish([make({"linux.vvpp": b"1"})], store, out, Cancel())
    publish([make({"win.vvpp": b"2"}), make({"win.7z.001": b"3"})], store, out, Cancel())

    everything = {"linux.vvpp": b"1", "win.vvpp": b"2", "win.7z.001": b"3"}
    assert shown(out) == {**everything, "SHA256SUMS": sums(**everything)}
    subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=out, check=True)


def test_sums_of_files_that_are_gone_are_dropped(store: Store, make: Make, out: Path) -> None:
    publish([make({"old.vvpp": b"1"})], store, out, Cancel())
    (out / "old.vvpp").unlink()

    publish([make({"new.vvpp": b"2"})], store, out, Cancel())

    assert (out / "SHA256SUMS").read_bytes() == sums(**{"new.vvpp": b"2"})


@pytest.mark.parametrize("data", [b"\xff\xfe", b"nonsense\n", b"", b"../../x  y\n"])
def test_sums_that_somebody_spoiled_are_written_anew(
    data: bytes, store: Store, make: Make, out: Path
) -> None:
    (out / "SHA256SUMS").write_bytes(data)

    publish([make({"x.vvpp": b"1"})], store, out, Cancel())

    assert (out / "SHA256SUMS").read_bytes() == sums(**{"x.vvpp": b"1"})


def test_parts_of_an_earlier_larger_build_are_removed(store: Store, make: Make, out: Path) -> None:
    """The editor joins every part that it finds."""
    before = {"x.001.vvppp": b"1", "x.002.vvppp": b"2", "x.003.vvppp": b"3", "x.vvpp.txt": b"l"}
    seven = {"x.7z.001": b"1", "x.7z.002": b"2", "x.7z.txt": b"l"}
    other = {"y.001.vvppp": b"1", "y.002.vvppp": b"2"}
    publish([make(before), make(seven), make(other)], store, out, Cancel())
    (out / "x.009.vvppp").write_bytes(b"the user's own, not in the sums")

    publish([make({"x.001.vvppp": b"9", "x.002.vvppp": b"8"})], store, out, Cancel())

    left = set(shown(out)) - {"SHA256SUMS"}
    assert left == {"x.001.vvppp", "x.002.vvppp", "x.009.vvppp", "x.vvpp.txt", *seven, *other}

    publish([make({"x.vvpp": b"whole"}), make({"x.7z.001": b"1"})], store, out, Cancel())

    left = set(shown(out)) - {"SHA256SUMS"}
    assert left == {"x.vvpp", "x.009.vvppp", "x.vvpp.txt", "x.7z.001", "x.7z.txt", *other}


def test_a_file_with_the_right_bytes_is_left_alone(store: Store, make: Make, out: Path) -> None:
    made = make({"x.vvpp": b"zip"})
    publish([made], store, out, Cancel())
    before = (out / "x.vvpp").stat()

    publish([made], store, out, Cancel())

    after = (out / "x.vvpp").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_file_that_the_user_edited_is_replaced_and_the_store_is_untouched(
    store: Store, make: Make, out: Path
) -> None:
    made = make({"x.vvpp": b"zip"})
    publish([made], store, out, Cancel())
    inside = store.file_path(Digest.of_bytes(b"zip"))
    facts = inside.stat()
    (out / "x.vvpp").write_bytes(b"ZIP")
    os.utime(out / "x.vvpp", (0, 0))
    (out / "x.vvpp").chmod(0o777)
    assert inside.read_bytes() == b"zip"
    assert inside.stat() == facts

    publish([made], store, out, Cancel())

    assert (out / "x.vvpp").read_bytes() == b"zip"
    assert store.load_tree(made.tree.digest) == made.tree


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(
    store: Store, make: Make, out: Path, tmp_path: Path
) -> None:
    (tmp_path / "victim").write_bytes(b"zip")
    (out / "x.vvpp").symlink_to(tmp_path / "victim")
    (tmp_path / "other").write_bytes(b"mine")
    (out / ".x.vvpp.part").symlink_to(tmp_path / "other")

    publish([make({"x.vvpp": b"zip"})], store, out, Cancel())

    assert not (out / "x.vvpp").is_symlink()
    assert (tmp_path / "other").read_bytes() == b"mine"


def test_files_are_readable_and_writable_for_the_user(store: Store, make: Make, out: Path) -> None:
    before = os.umask(0o022)
    try:
        publish([make({"x.vvpp": b"zip"})], store, out, Cancel())
    finally:
        os.umask(before)

    assert (out / "x.vvpp").stat().st_mode & 0o777 == 0o644


def test_a_corrupt_file_of_the_store_is_not_published(store: Store, make: Make, out: Path) -> None:
    made = make({"x.vvpp": b"zip"})
    inside = store.file_path(Digest.of_bytes(b"zip"))
    inside.chmod(0o644)
    inside.write_bytes(b"ZIP")

    with pytest.raises(StoreCorruptError):
        publish([made], store, out, Cancel())

    assert shown(out) == {}
    assert not inside.exists()
    assert list(out.glob(".*.part")) == []


def test_what_a_killed_run_left_is_swept(store: Store, make: Make, out: Path) -> None:
    (out / ".x.vvpp.part").write_bytes(b"half of gigabytes")

    publish([make({"y.vvpp": b"zip"})], store, out, Cancel())

    assert list(out.glob(".*.part")) == []


def test_runs_that_write_to_one_directory_keep_each_others_sums(
    store: Store, make: Make, out: Path
) -> None:
    made = [make({f"t{number}.vvpp": b"%d" % number}) for number in range(8)]
    threads = [
        threading.Thread(target=publish, args=([each], store, out, Cancel())) for each in made
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len((out / "SHA256SUMS").read_text().splitlines()) == 8
