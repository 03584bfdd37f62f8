"""Loading recipes: how the bundle of an engine era is put together."""

from __future__ import annotations

from pathlib import Path

from vvbuild import resources
from vvbuild.errors import ManifestError
from vvbuild.manifest.decode import Problem, decode, no_such, read_document
from vvbuild.model.recipe import Placement, Recipe
from vvbuild.model.target import Target


@resources.cached
def load_recipe(name: str) -> Recipe:
    """The recipe of that name. Raises :class:`ManifestError`."""
    names = resources.manifest_names("recipes")
    if name not in names:
        raise ManifestError(no_such("recipe", name, names))
    document = read_document(recipe_file(name))
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


def recipe_file(name: str) -> Path:
    """Where the recipe of that name is read from."""
    return resources.manifest_file(f"recipes/{name}.toml")


def placements(recipe: Recipe, target: Target) -> tuple[Placement, ...]:
    """The rows of a recipe that concern ``target``."""
    return tuple(
        row
        for row in recipe.place
        if (row.os is None or target.os in row.os)
        and (row.device is None or target.device in row.device)
    )
