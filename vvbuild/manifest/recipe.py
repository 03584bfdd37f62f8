"""Loading recipes: how the bundle of an engine era is put together."""

from __future__ import annotations

from functools import cache

from vvbuild import resources
from vvbuild.errors import ManifestError
from vvbuild.manifest.decode import Problem, decode, no_such, read_document
from vvbuild.model.release import Placement, Recipe
from vvbuild.model.target import Target


@cache
def load_recipe(name: str) -> Recipe:
    """The packaged recipe of that name. Raises :class:`ManifestError`."""
    directory = resources.manifests_dir() / "recipes"
    names = sorted(path.stem for path in directory.glob("*.toml"))
    if name not in names:
        raise ManifestError(no_such("recipe", name, names))
    document = read_document(directory / f"{name}.toml")
    recipe = decode(document, Recipe)
    problems: list[Problem] = [
        (("place", index), f"{path!r} leaves the bundle")
        for index, row in enumerate(recipe.place)
        for path in (row.to, *row.members)
        if path.startswith("/") or "\\" in path or ".." in path.split("/")
    ]
    if problems:
        raise document.error(problems)
    return recipe


def placements(recipe: Recipe, target: Target) -> tuple[Placement, ...]:
    """The rows of a recipe that concern ``target``."""
    return tuple(
        row
        for row in recipe.place
        if (row.os is None or target.os in row.os)
        and (row.device is None or target.device in row.device)
    )
