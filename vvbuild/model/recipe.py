"""How the bundle of an engine era is put together, as written in ``manifests/recipes/``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from vvbuild.model.release import ComponentName
from vvbuild.model.row import Name, Row
from vvbuild.model.target import Device, Os


class Placement(Row, frozen=True, kw_only=True):
    """Where files of a component go in a bundle."""

    component: Annotated[ComponentName, Meta(description="Whose files are placed.")]
    members: Annotated[
        list[str],
        Meta(min_length=1, description="Paths or globs in the component; each must match."),
    ]
    to: Annotated[str, Meta(description="Path in the bundle; a directory when it ends with `/`.")]
    os: Annotated[list[Os] | None, Meta(description="Only on these.")] = None
    device: Annotated[list[Device] | None, Meta(description="Only on these.")] = None
    base: Annotated[
        str | None,
        Meta(description="What is cut off a member's path below `to`; by default its folders."),
    ] = None
    soname: Annotated[
        str | None, Meta(description="SONAME to set; `{version}` is the component's.")
    ] = None
    optional: Annotated[bool, Meta(description="Whether it may match nothing.")] = False


class Recipe(Row, frozen=True, kw_only=True):
    """``manifests/recipes/*.toml``: how the bundle of an engine era is put together."""

    schema: Literal["vvbuild.recipe/1"]
    name: Annotated[Name, Meta(description="The file's name without `.toml`.")]
    contents_directory: Annotated[
        str, Meta(description="PyInstaller's folder of internals; `.` for the flat layout.")
    ]
    place: list[Placement]
