from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

import pytest

from tests.bundle.archive.bundles import EPOCH, seen
from vvbuild.bundle.archive.read import find_parts, unpack_bundle
from vvbuild.bundle.archive.zip import write_vvpp
from vvbuild.errors import (
    CancelledError,
    HostileArchiveError,
    IntegrityError,
    ResourceError,
    UsageError,
)
from vvbuild.runtime.cancel import Cancel


def pack(bundle: Path, out: Path, *, volume_size: int = 1 << 20) -> list[Path]:
    out.mkdir()
    made = write_vvpp(
        bundle, out, "エンジン-1.0", epoch=EPOCH, cancel=Cancel(), volume_size=volume_size
    )
    return [part.path for part in made.parts]


@pytest.mark.parametrize("volume_size", [1 << 20, 1000, 7])
def test_what_was_packed_comes_back_with_modes_and_links(
    bundle: Path, tmp_path: Path, volume_size: int
) -> None:
    parts = pack(bundle, tmp_path / "out", volume_size=volume_size)

    old = os.umask(0o077)
    try:
        unpack_bundle(parts[-1], tmp_path / "back", cancel=Cancel())
    finally:
        os.umask(old)

    assert seen(tmp_path / "back") == seen(bundle)
    assert {path.name for path in tmp_path.iterdir()} == {"back", "bundle", "out"}


def test_parts_are_taken_by_number_and_others_left_alone(tmp_path: Path) -> None:
    names = [f"x.{number:03d}.vvppp" for number in range(1, 13)]
    for name in [*reversed(names), "y.001.vvppp", "x.vvpp", "x.vvpp.txt", "ax.013.vvppp"]:
        (tmp_path / name).touch()

    assert [path.name for path in find_parts(tmp_path / names[4])] == names


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["x.001.vvppp", "x.003.vvppp"], "Part 2 of x is missing"),
        (["x.002.vvppp", "x.003.vvppp"], "Part 1 of x is missing"),
        (["x.001.vvppp", "x.1.vvppp", "x.2.vvppp"], "Part 1 of x is there twice"),
    ],
)
def test_a_gap_or_a_double_is_named(tmp_path: Path, names: list[str], complaint: str) -> None:
    for name in names:
        (tmp_path / name).touch()

    with pytest.raises(IntegrityError, match=complaint):
        find_parts(tmp_path / names[-1])


def test_a_missing_last_part_is_noticed_and_leaves_nothing(bundle: Path, tmp_path: Path) -> None:
    parts = pack(bundle, tmp_path / "out", volume_size=1000)
    parts[-1].unlink()

    with pytest.raises(HostileArchiveError):
        unpack_bundle(parts[0], tmp_path / "back", cancel=Cancel())

    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize(
    ("name", "mode", "content"),
    [
        ("../escaped", stat.S_IFREG | 0o644, b"x"),
        ("a/../../escaped", stat.S_IFREG | 0o644, b"x"),
        ("/tmp/escaped", stat.S_IFREG | 0o644, b"x"),
        ("C:/escaped", stat.S_IFREG | 0o644, b"x"),
        ("..\\escaped", stat.S_IFREG | 0o644, b"x"),
        ("link", stat.S_IFLNK | 0o777, b"/etc/passwd"),
        ("link", stat.S_IFLNK | 0o777, b"../escaped"),
        ("d/link", stat.S_IFLNK | 0o777, b"../../escaped"),
        ("pipe", stat.S_IFIFO | 0o644, b""),
        ("nul.txt", stat.S_IFREG | 0o644, b"x"),
    ],
)
def test_a_hostile_member_is_refused_and_leaves_nothing(
    tmp_path: Path, name: str, mode: int, content: bytes
) -> None:
    hostile = tmp_path / "x.vvpp"
    with zipfile.ZipFile(hostile, "w") as archive:
        archive.writestr("engine_manifest.json", "{}")
        info = zipfile.ZipInfo()
        info.filename = name  # the constructor would tidy it up
        info.create_system = 3
        info.external_attr = mode << 16
        archive.writestr(info, content)

    with pytest.raises(HostileArchiveError):
        unpack_bundle(hostile, tmp_path / "back", cancel=Cancel())

    assert {path.name for path in tmp_path.iterdir()} == {"x.vvpp"}


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    hostile = tmp_path / "x.vvpp"
    with zipfile.ZipFile(hostile, "w") as archive:
        info = zipfile.ZipInfo("way")
        info.create_system = 3
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, str(outside))
        archive.writestr("way/file", "x")

    with pytest.raises(HostileArchiveError):
        unpack_bundle(hostile, tmp_path / "back", cancel=Cancel())

    assert not list(outside.iterdir())


def test_a_flipped_bit_is_noticed(bundle: Path, tmp_path: Path) -> None:
    (path,) = pack(bundle, tmp_path / "out")
    data = bytearray(path.read_bytes())
    data[data.index(b"what is in") + 3] ^= 1
    path.write_bytes(data)

    with pytest.raises(HostileArchiveError, match="damaged"):
        unpack_bundle(path, tmp_path / "back", cancel=Cancel())


def test_a_7z_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "x.vvpp").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(100))

    with pytest.raises(UsageError, match="7z") as caught:
        unpack_bundle(tmp_path / "x.vvpp", tmp_path / "back", cancel=Cancel())
    assert caught.value.hint is not None


@pytest.mark.parametrize("name", ["x.vvpp", "x.001.vvppp"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ResourceError, match="No such file"):
        unpack_bundle(tmp_path / name, tmp_path / "back", cancel=Cancel())


def test_a_cancelled_run_leaves_nothing(bundle: Path, tmp_path: Path) -> None:
    parts = pack(bundle, tmp_path / "out", volume_size=1000)
    cancel = Cancel()
    cancel.set()

    with pytest.raises(CancelledError):
        unpack_bundle(parts[0], tmp_path / "back", cancel=cancel)

    assert {path.name for path in tmp_path.iterdir()} == {"bundle", "out"}
