from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from vvbuild.errors import CancelledError
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import (
    atomic_writer,
    current_umask,
    hash_file,
    remove_tree,
    write_atomically,
)

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_a_file_is_hashed_whole(size: int, tmp_path: Path) -> None:
    data = os.urandom(size)
    (tmp_path / "x").write_bytes(data)

    assert hash_file(tmp_path / "x").hex == hashlib.sha256(data).hexdigest()


def test_hashing_can_be_interrupted(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    cancel = Cancel()
    cancel.set()

    with pytest.raises(CancelledError):
        hash_file(tmp_path / "x", cancel)


def test_a_file_is_replaced_in_one_move(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x"
    write_atomically(path, b"old")
    with atomic_writer(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"

    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_atomically(path, b"old")

    def fail() -> None:
        with atomic_writer(path) as stream:
            stream.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from vvbuild.runtime.files import atomic_writer\n"
        "with atomic_writer(Path(sys.argv[1])) as stream:\n"
        "    stream.write(b'half'); stream.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, path], cwd=ROOT, check=False)

    assert done.returncode == -9
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_files_have_the_mode_that_the_user_wants(mask: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        assert current_umask() == mask
        write_atomically(tmp_path / "x", b"")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o666 & ~mask


# Modes bind everybody but root, who steps down first. Everything is imported by then.
REMOVE = """
import os, sys
from pathlib import Path
from vvbuild.runtime.files import remove_tree
home = Path(sys.argv[1])
if os.geteuid() == 0:
    os.chown(home, 65534, 65534)
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
root = home / "tree"
(root / "closed" / "inside").mkdir(parents=True)
(root / "closed" / "inside" / "file").write_bytes(b"")
(root / "closed" / "inside" / "file").chmod(0o400)
(root / "closed" / "inside").chmod(0o500)
(root / "closed").chmod(0o000)
remove_tree(root)
print(os.listdir(home))
"""


def test_a_tree_is_removed_whatever_its_modes() -> None:
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [sys.executable, "-c", REMOVE, home], cwd=ROOT, check=True, capture_output=True,
            text=True,
        )  # fmt: skip

    assert done.stdout == "[]\n"


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("mine")
    outside.chmod(0o500)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "link").symlink_to(outside)
    (tmp_path / "direct").symlink_to(outside)

    remove_tree(tree)
    remove_tree(tmp_path / "direct")

    assert not tree.exists()
    assert (outside / "x").read_text() == "mine"
    assert stat.S_IMODE(outside.stat().st_mode) == 0o500


def test_what_is_not_there_is_removed_already(tmp_path: Path) -> None:
    remove_tree(tmp_path / "nothing")


def test_a_file_is_removed_as_well(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    remove_tree(tmp_path / "x")

    assert not (tmp_path / "x").exists()
