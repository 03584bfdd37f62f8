from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.bundle.archive.volumes import Volumes, VolumeWriter
from vvbuild.errors import UsageError


def namer(number: int) -> str:
    return f"x.{number:03d}.vvppp"


def write(directory: Path, pieces: list[bytes], volume_size: int) -> Volumes:
    with VolumeWriter(directory, namer, volume_size, "x.vvpp") as out:
        for piece in pieces:
            assert out.write(piece) == len(piece)
        return out.close()


@given(pieces=st.lists(st.binary(max_size=40), max_size=12), volume_size=st.integers(1, 50))
def test_the_parts_are_the_stream_cut_and_hashed(pieces: list[bytes], volume_size: int) -> None:
    whole = b"".join(pieces)
    with tempfile.TemporaryDirectory() as name:
        made = write(Path(name), pieces, volume_size)

        contents = [part.path.read_bytes() for part in made.parts]
        assert b"".join(contents) == whole
        assert (made.size, made.sha256.hex) == (len(whole), hashlib.sha256(whole).hexdigest())
        for part, content in zip(made.parts, contents, strict=True):
            assert part.size == len(content)
            assert part.sha256.hex == hashlib.sha256(content).hexdigest()
        assert all(len(content) == volume_size for content in contents[:-1])
        assert len(contents) == max(1, -(-len(whole) // volume_size))
        assert {path.name for path in Path(name).iterdir()} == {p.path.name for p in made.parts}


@pytest.mark.parametrize(
    ("length", "names"),
    [
        (0, ["x.vvpp"]),
        (9, ["x.vvpp"]),
        (10, ["x.vvpp"]),
        (11, ["x.001.vvppp", "x.002.vvppp"]),
        (20, ["x.001.vvppp", "x.002.vvppp"]),
        (21, ["x.001.vvppp", "x.002.vvppp", "x.003.vvppp"]),
    ],
)
def test_a_full_part_makes_no_empty_one_and_a_lone_part_has_the_whole_name(
    tmp_path: Path, length: int, names: list[str]
) -> None:
    made = write(tmp_path, [b"x" * length], 10)

    assert [part.path.name for part in made.parts] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_a_size_that_github_refuses_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        VolumeWriter(tmp_path, namer, 2 << 30, "x.vvpp")
    assert not list(tmp_path.iterdir())


def test_an_error_leaves_no_part_behind(tmp_path: Path) -> None:
    def fail() -> None:
        with VolumeWriter(tmp_path, namer, 4, "x.vvpp") as out:
            out.write(b"0123456789")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("taken", ["x.001.vvppp", "x.vvpp"])
def test_nothing_that_is_there_is_overwritten(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_bytes(b"mine")

    with pytest.raises(FileExistsError):
        write(tmp_path, [b"abc"], 10)

    assert (tmp_path / taken).read_bytes() == b"mine"


def test_closing_twice_tells_the_same(tmp_path: Path) -> None:
    out = VolumeWriter(tmp_path, namer, 10, "x.vvpp")
    out.write(b"abc")
    assert out.close() == out.close()
