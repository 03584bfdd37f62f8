"""What loaders find, and what they need not find: the tables of ``manifests/bytes/``."""

from __future__ import annotations

import fnmatch
import functools
import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vvbuild.model.release import ComponentName
from vvbuild.model.row import Row, Text
from vvbuild.model.target import Os

Names = Annotated[list[str], Meta(min_length=1, description="File names or globs.")]
Source = Annotated[str, Meta(min_length=1, description="Where what the row says can be read.")]
Giver = Literal["system", "driver", "redistributable"]


class GivenRow(Row, frozen=True, kw_only=True):
    """Libraries that are there without being in the bundle."""

    os: Os
    by: Annotated[
        Giver,
        Meta(
            description="`system`: part of every one that is served; `driver`: comes with the "
            "GPU's driver; `redistributable`: many programs install it, but not the system."
        ),
    ]
    names: Names
    never: Annotated[
        bool, Meta(description="Whether a copy in a bundle breaks it on other machines.")
    ] = False
    unwise: Annotated[
        bool,
        Meta(description="Whether the machine's own libraries may need a newer one than a copy."),
    ] = False
    source: Source


class PreloadedRow(Row, frozen=True, kw_only=True):
    """Libraries that the engine loads from its own folder before others are asked for."""

    os: list[Os]
    names: Names
    source: Source


class FoldersRow(Row, frozen=True, kw_only=True):
    """Folders that matter to a loader, as globs of their names or paths."""

    os: Os
    names: Names
    source: Source


class OpenedRow(Row, frozen=True, kw_only=True):
    """Libraries that a library opens by name while it runs."""

    os: Os
    by: Annotated[str, Meta(description="Name or glob of the library that opens them.")]
    names: Names
    needed: Annotated[bool, Meta(description="Whether something fails without them.")]
    source: Source


class AsksRow(Row, frozen=True, kw_only=True):
    """A library whose bytes tell by what name it opens another one."""

    by: Names
    pattern: Annotated[str, Meta(description="Regular expression of the names, in ASCII.")]
    holds: Annotated[
        str, Meta(min_length=3, description="What every such name holds, to be looked for first.")
    ]
    adds: Annotated[str, Meta(description="What it puts behind such a name itself.")] = ""
    needed: Annotated[bool, Meta(description="Whether something fails without them.")] = False
    source: Source

    def is_about(self, name: str) -> bool:
        """Whether a file of that name is meant."""
        return any(fnmatch.fnmatchcase(name, glob) for glob in self.by)

    def tells_of(self, asked: str) -> bool:
        """Whether it is such a name, with what is put behind it."""
        return asked.endswith(self.adds) and bool(
            re.fullmatch(self.pattern, asked[: len(asked) - len(self.adds)])
        )


class LoadingTable(Row, frozen=True, kw_only=True):
    """``manifests/bytes/loading.toml``."""

    schema: Literal["vvbuild.bytes.loading/1"]
    given: list[GivenRow]
    preloaded: list[PreloadedRow]
    trusted: Annotated[
        list[FoldersRow],
        Meta(description="Folders outside of a bundle that only the system's owner writes to."),
    ]
    folders: list[FoldersRow]
    opened: list[OpenedRow]
    asks: list[AsksRow]

    def given_as(self, os: Os, name: str) -> GivenRow | None:
        """What is said of a library that is there without being in the bundle."""
        return next(
            (row for row in self.given if row.os == os and matches(os, name, row.names)), None
        )

    def trusts(self, os: Os, folder: str) -> bool:
        """Whether nobody but the system's owner can lay a library into a folder."""
        return any(row.os == os and matches(os, folder, row.names) for row in self.trusted)

    def giver(self, os: Os, name: str) -> Giver | None:
        """Who brings a library of that name, if not the bundle."""
        row = self.given_as(os, name)
        return row.by if row is not None else None


class NvidiaRow(Row, frozen=True, kw_only=True):
    """How one of NVIDIA's libraries is named."""

    component: ComponentName
    name: Text
    linux: Annotated[str, Meta(pattern=r"^[^*]*(\*[^*]*)+$")]
    win: Annotated[str, Meta(pattern=r"^[^*]*(\*[^*]*)+$")]
    majors: Annotated[
        dict[Annotated[str, Meta(pattern=r"^\d+$")], list[str]],
        Meta(description="Major of the component → globs of what stands at the last star."),
    ]
    source: Source


class DriverRow(Row, frozen=True, kw_only=True):
    """The driver that a major of CUDA needs."""

    cuda: int
    least: Annotated[int, Meta(gt=0, description="The driver's major version.")]
    source: Source


class NvidiaTable(Row, frozen=True, kw_only=True):
    """``manifests/bytes/nvidia.toml``."""

    schema: Literal["vvbuild.bytes.nvidia/1"]
    library: list[NvidiaRow]
    driver: list[DriverRow] = msgspec.field(default_factory=list)

    def driver_for(self, cuda: int) -> int | None:
        """The oldest driver for a major of CUDA, where it is known."""
        return next((row.least for row in self.driver if row.cuda == cuda), None)

    def identify(self, name: str) -> NvidiaName | None:
        """What a file name of Linux or Windows says, if it is NVIDIA's."""
        for row in self.library:
            for pattern in (row.linux, row.win):
                if (found := _last_star(pattern).fullmatch(name)) is not None:
                    return NvidiaName(row.component, row.name, _major(row, found[1]))
        return None


class NvidiaName(msgspec.Struct, frozen=True):
    """Whose library a name is; ``major`` is the component's, if the name tells it."""

    component: ComponentName
    library: str
    major: int | None


def matches(os: Os, name: str, globs: list[str]) -> bool:
    """Whether a library's name is meant, as that system compares names."""
    if os == "win":
        return any(fnmatch.fnmatchcase(name.lower(), glob.lower()) for glob in globs)
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def _major(row: NvidiaRow, text: str) -> int | None:
    for major, globs in row.majors.items():
        if any(fnmatch.fnmatchcase(text, glob) for glob in globs):
            return int(major)
    return None


@functools.cache
def _last_star(pattern: str) -> re.Pattern[str]:
    before, _, after = pattern.rpartition("*")
    start = ".*".join(map(re.escape, before.split("*")))
    # Windows does not mind the case of names; NVIDIA's of Linux differ in more than that.
    return re.compile(rf"{start}([^/]*){re.escape(after)}", re.IGNORECASE)
