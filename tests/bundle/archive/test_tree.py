from __future__ import annotations

import os
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from vvbuild.bundle.archive.tree import scan, unix_mode
from vvbuild.errors import UsageError


def test_entries_are_in_the_order_of_their_bytes_with_one_of_four_modes(bundle: Path) -> None:
    entries = scan(bundle).entries

    assert {entry.path: f"{unix_mode(entry):o}" for entry in entries} == {
        "engine_internal.txt": "100644",
        "engine_internal/a b/c.txt": "100644",
        "engine_internal/libx.so": "120777",
        "engine_internal/libx.so.1": "100755",
        "engine_manifest.json": "100644",
        "model": "40755",
        "resources/empty.txt": "100644",
        "resources/latest": "120777",
        "resources/キャラ/アイコン.png": "100644",
        "run": "100755",
    }
    names = [entry.path.encode() for entry in entries]
    assert names == sorted(names)


def test_nothing_of_the_host_is_in_an_entry(bundle: Path) -> None:
    before = scan(bundle)
    for path in bundle.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    (bundle / "run").chmod(0o4711)
    (bundle / "engine_internal.txt").chmod(0o600)

    assert scan(bundle) == before


@pytest.mark.parametrize(
    "links",
    [
        {"a": "b"},
        {"a": "./b"},
        {"d/a": "e/f.txt"},
        {"a": "d", "b": "d/e"},
        {"a": "missing"},
    ],
)
def test_links_that_point_downwards_are_kept(tmp_path: Path, links: dict[str, str]) -> None:
    make_links(tmp_path, links)

    found = {entry.path: entry.link for entry in scan(tmp_path).entries if entry.link}
    assert found == {name: target.removeprefix("./") for name, target in links.items()}


@pytest.mark.parametrize(
    "links",
    [
        {"a": ".."},
        {"a": "."},
        {"d/a": "../b"},
        {"d/e/a": "../../b"},
        {"a": "d/../b"},
        {"a": "/etc/passwd"},
        {"a": "b", "b": "d"},
        {"a": "d", "b": "a/e"},
        {"d/a": "e", "b": "d/a/f.txt"},
    ],
)
def test_a_link_that_7_zip_takes_for_an_attack_is_refused(
    tmp_path: Path, links: dict[str, str]
) -> None:
    make_links(tmp_path, links)

    with pytest.raises(UsageError, match=r"point downwards|leads over the link") as caught:
        scan(tmp_path)
    assert caught.value.hint is not None


def make_links(tree: Path, links: dict[str, str]) -> None:
    (tree / "d/e").mkdir(parents=True)
    (tree / "d/e/f.txt").touch()
    for name, target in links.items():
        (tree / name).symlink_to(target)


@pytest.mark.network
@pytest.mark.parametrize(
    ("links", "status"),
    [({"a": "d/e/f.txt"}, 0), ({"d/a": "../b"}, 2), ({"a": "d", "b": "a/e"}, 2)],
)
def test_7_zip_judges_links_as_we_think(
    tmp_path: Path, seven_zip: Path, links: dict[str, str], status: int
) -> None:
    make_links(tmp_path / "tree", links)
    archive = tmp_path / "x.zip"
    run = partial(subprocess.run, cwd=tmp_path / "tree", capture_output=True)
    run([seven_zip, "a", "-snl", archive, "."], check=True)

    assert run([seven_zip, "x", f"-o{tmp_path / 'back'}", archive]).returncode == status


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        with pytest.raises(UsageError, match="neither a file nor a directory"):
            scan(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_is_not_unicode_is_refused(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).touch()

    with pytest.raises(UsageError, match="not Unicode"):
        scan(tmp_path)
