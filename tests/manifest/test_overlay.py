"""A user's own manifests over the packaged ones, and which release a command is about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from vvbuild import resources
from vvbuild.errors import LockError, ManifestError, UnknownNameError, UsageError
from vvbuild.manifest.choose import choose_release
from vvbuild.manifest.compat import compat_tables
from vvbuild.manifest.lock import load_release_lock, lock_destination, lock_path
from vvbuild.manifest.recipe import load_recipe
from vvbuild.manifest.release import find_release, release_names
from vvbuild.manifest.tools import tool_table

FORK = """\
schema = "vvbuild.release/1"
name = "{name}"
summary = "A fork"
extends = "{extends}"
[components.models]
version = "0.16.3"
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    """A directory of manifests that is laid over the packaged ones."""
    (tmp_path / "own" / "releases").mkdir(parents=True)
    resources.lay_over(tmp_path / "own")
    yield tmp_path / "own"
    resources.lay_over(None)


def fork(directory: Path, name: str = "fork", extends: str = "0.25.2", file: str = "") -> Path:
    path = directory / (file or f"releases/{name}.toml")
    path.write_text(FORK.format(name=name, extends=extends), encoding="utf-8")
    return path


def test_own_releases_stand_beside_the_packaged_ones(own: Path) -> None:
    fork(own)

    assert "fork" in release_names()
    assert "0.25.2" in release_names()
    assert find_release("fork").row.components["models"].version == "0.16.3"
    assert find_release("fork").row.components["core"].version == "0.16.2"


def test_an_own_release_of_a_packaged_name_lies_over_it_and_can_extend_it(own: Path) -> None:
    packaged = find_release("0.25.2")
    fork(own, "0.25.2")

    assert release_names().count("0.25.2") == 1
    assert find_release("0.25.2").row.components["models"].version == "0.16.3"
    assert find_release("0.25.2").row.engine.commit == packaged.row.engine.commit


def test_what_the_package_extends_is_never_replaced(own: Path) -> None:
    before = find_release("0.25.2").row.components
    fork(own, "0.25.1", extends="0.25.0")

    assert find_release("0.25.2").row.components == before


def test_locks_are_read_from_the_own_directory_first_and_written_there(own: Path) -> None:
    packaged = lock_path("0.25.2")
    assert lock_destination("0.25.2") == own / "locks" / "0.25.2.lock.json"

    (own / "locks").mkdir()
    (own / "locks" / "0.25.2.lock.json").write_bytes(packaged.read_bytes())

    assert lock_path("0.25.2") == own / "locks" / "0.25.2.lock.json"
    assert lock_path("0.25.1") == packaged.with_name("0.25.1.lock.json")
    assert load_release_lock(find_release("0.25.2")).release == "0.25.2"


def test_tables_and_recipes_can_be_own_too(own: Path) -> None:
    before = set(tool_table().tools)
    text = (resources.manifests_dir() / "tools.toml").read_text(encoding="utf-8")
    more = '\n[tools.mold."1.0"]\nlicence = "MIT"\nmember = "mold"\nreferences = {}\n'
    (own / "tools.toml").write_text(text + more, encoding="utf-8")
    (own / "recipes").mkdir()
    recipe = 'schema = "vvbuild.recipe/1"\nname = "mine"\ncontents_directory = "."\nplace = []\n'
    (own / "recipes" / "mine.toml").write_text(recipe, encoding="utf-8")
    resources.lay_over(own)

    assert set(tool_table().tools) == before | {"mold"}
    assert load_recipe("mine").contents_directory == "."


def test_own_rows_of_what_fits_what_stand_before_the_packaged_ones(own: Path) -> None:
    packaged = compat_tables()
    (own / "compat").mkdir()
    (own / "compat" / "onnxruntime.toml").write_text(
        'schema = "vvbuild.compat.onnxruntime/1"\n[[cuda]]\nflavour = "voicevox"\n'
        'versions = "==1.17.3"\ncuda = 13\ncudnn = 9\nsource = "our own build"\n',
        encoding="utf-8",
    )
    resources.lay_over(own)

    ours = compat_tables().onnxruntime
    assert ours.cuda[1:] == packaged.onnxruntime.cuda
    assert ours.directml == packaged.onnxruntime.directml
    row = ours.cuda_row("voicevox", "1.17.3")
    assert row is not None
    assert row.cuda == 13


def test_an_own_table_that_is_wrong_is_told_with_its_line(own: Path) -> None:
    (own / "compat").mkdir()
    path = own / "compat" / "core.toml"
    path.write_text('schema = "vvbuild.compat.core/1"\n[[core]]\nversion = "1"\n')
    resources.lay_over(own)

    with pytest.raises(ManifestError) as caught:
        compat_tables()
    assert f"{path}:3: core[0].version: unknown key 'version'; did you mean versions" in str(
        caught.value.message
    )


def test_nothing_of_it_is_left_once_it_is_taken_away(own: Path) -> None:
    fork(own)
    (own / "tools.toml").write_text("broken", encoding="utf-8")
    resources.lay_over(own)
    with pytest.raises(ManifestError):
        tool_table()

    resources.lay_over(None)

    assert "fork" not in release_names()
    assert tool_table().tools


def test_a_directory_that_is_not_there_is_a_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no directory"):
        resources.lay_over(tmp_path / "none")


def test_the_sample_is_built_where_nothing_else_is_said(tmp_path: Path) -> None:
    chosen = choose_release(None, tmp_path)

    assert (chosen.release.name, "nothing else" in chosen.why) == ("sample", True)


def test_a_release_is_chosen_by_its_name_or_by_its_file(tmp_path: Path) -> None:
    path = fork(tmp_path, file="fork.toml")

    assert choose_release("0.25.2", tmp_path).release.name == "0.25.2"
    assert choose_release(str(path), tmp_path).release.name == "fork"
    with pytest.raises(UnknownNameError):
        choose_release("0.25.22", tmp_path)
    with pytest.raises(ManifestError, match="no such file"):
        choose_release(str(tmp_path / "none.toml"), tmp_path)


def test_a_checkouts_own_manifest_is_found_from_any_of_its_folders(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    path = fork(tmp_path, "my-fork", file="vvbuild.toml")

    chosen = choose_release(None, tmp_path / "src" / "deep")

    assert chosen.release.name == "my-fork"
    assert chosen.release.row.components["models"].version == "0.16.3"
    assert str(path) in chosen.why
    assert lock_path("my-fork", chosen.release.path) == tmp_path / "vvbuild.lock.json"
    assert lock_destination("my-fork", chosen.release.path) == tmp_path / "vvbuild.lock.json"
    with pytest.raises(LockError, match="has no lock") as caught:
        load_release_lock(chosen.release)
    assert f"`vvbuild lock --release {path}`" in str(caught.value.hint)


def test_the_manifest_of_somebody_elses_repository_is_not_taken(tmp_path: Path) -> None:
    fork(tmp_path, file="vvbuild.toml")
    (tmp_path / "inner" / ".git").mkdir(parents=True)

    assert choose_release(None, tmp_path / "inner").release.name == "sample"


def test_a_checkouts_manifest_extends_releases_and_not_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("[tool]\n", encoding="utf-8")
    fork(tmp_path, extends="base", file="vvbuild.toml")

    with pytest.raises(ManifestError, match=r"vvbuild\.toml:4: extends: There is no release"):
        choose_release(None, tmp_path)
