"""Several artifacts of one component as one tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from vvbuild.bundle.merge import merge
from vvbuild.errors import IntegrityError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "source/a").mkdir(parents=True)
    (tmp_path / "source/a/x").write_text("x")
    (tmp_path / "source/link").symlink_to("a/x")
    (tmp_path / "source/empty").mkdir()
    return tmp_path / "source"


def found(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*")}


def test_the_first_one_is_moved_as_a_whole(source: Path, tmp_path: Path) -> None:
    merge(source, tmp_path / "out/deep", "first.whl")

    assert found(tmp_path / "out/deep") == {"a", "a/x", "link", "empty"}
    assert not source.exists()


def test_others_are_added_and_equal_files_may_stand_twice(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "a").mkdir(parents=True)
    (out / "a/x").write_text("x")
    (out / "a/y").write_text("y")
    (out / "link").symlink_to("a/x")

    merge(source, out, "second.whl")

    assert found(out) == {"a", "a/x", "a/y", "link", "empty"}


@pytest.mark.parametrize("kind", ["file", "link", "folder", "link for a file"])
def test_two_different_files_for_one_place_are_refused(
    source: Path, tmp_path: Path, kind: str
) -> None:
    out = tmp_path / "out"
    (out / "a").mkdir(parents=True)
    if kind == "file":
        (out / "a/x").write_text("another")
    elif kind == "folder":
        (out / "a/x").mkdir()
    elif kind == "link":
        (out / "link").symlink_to("a/y")
    else:
        (out / "a/x").symlink_to("link")

    with pytest.raises(IntegrityError, match="want the place") as caught:
        merge(source, out, "second.whl")
    assert caught.value.context == {"second": "second.whl"}
