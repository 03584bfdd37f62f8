from __future__ import annotations

from pathlib import Path

import pytest

from vvbuild import resources
from vvbuild.errors import ManifestError
from vvbuild.manifest.recipe import load_recipe, placements
from vvbuild.manifest.release import find_release, release_names
from vvbuild.model.target import Target


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory of recipes instead of the packaged one."""
    folder = tmp_path / "recipes"
    folder.mkdir()
    monkeypatch.setattr(resources, "manifests_dir", lambda: tmp_path)
    return folder


def write(folder: Path, row: str) -> None:
    (folder / "tiny.toml").write_text(
        'schema = "vvbuild.recipe/1"\nname = "tiny"\ncontents_directory = "."\n'
        f'[[place]]\ncomponent = "onnxruntime"\n{row}\n'
    )


def load(name: str = "tiny"):
    return load_recipe.__wrapped__(name)


BUILDABLE = [name for name in release_names() if find_release(name).row.engine.source == "package"]


@pytest.mark.parametrize("name", BUILDABLE)
def test_every_release_that_can_be_built_has_its_recipe(name: str) -> None:
    loaded = find_release(name)
    recipe = load_recipe(loaded.row.engine.recipe)

    for target in loaded.targets:
        placed = {row.component for row in placements(recipe, target)}
        assert {"engine", "onnxruntime"} <= placed
        assert ("cudnn" in placed) == (target.device == "cuda")


def test_rows_are_chosen_by_system_and_device(recipes: Path) -> None:
    write(recipes, 'members = ["a"]\nto = "a"\nos = ["linux"]\ndevice = ["cuda"]')
    recipe = load()

    assert placements(recipe, Target.parse("linux-x64-cuda")) == tuple(recipe.place)
    assert placements(recipe, Target.parse("linux-x64-cpu")) == ()
    assert placements(recipe, Target.parse("win-x64-cuda")) == ()


@pytest.mark.parametrize("to", ["/etc/passwd", "../out", "a/../../b", "a\\\\b"])
def test_a_place_outside_the_bundle_is_refused_with_its_line(to: str, recipes: Path) -> None:
    write(recipes, f'members = ["a"]\nto = "{to}"')

    with pytest.raises(ManifestError, match="leaves the bundle") as caught:
        load()
    assert f"{recipes / 'tiny.toml'}:4: place[0]: " in caught.value.message


@pytest.mark.parametrize("member", ["/etc/passwd", "../x"])
def test_a_member_outside_the_component_is_refused(member: str, recipes: Path) -> None:
    write(recipes, f'members = ["{member}"]\nto = "a"')

    with pytest.raises(ManifestError, match="leaves the bundle"):
        load()


def test_an_unknown_recipe_names_the_nearest(recipes: Path) -> None:
    write(recipes, 'members = ["a"]\nto = "a"')

    with pytest.raises(ManifestError, match="There is no recipe 'tinny'; did you mean tiny\\?"):
        load("tinny")


def test_an_unknown_key_is_named_with_its_line(recipes: Path) -> None:
    write(recipes, 'members = ["a"]\nto = "a"\nsonames = "x"')

    with pytest.raises(ManifestError, match=r"tiny\.toml:8: place\[0\]\.sonames: unknown key"):
        load()
