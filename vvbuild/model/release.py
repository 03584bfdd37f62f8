"""The release manifest and its tables, as written in ``manifests/``.

These types are the format: loading refuses what they do not name, the JSON Schema and the
reference page are generated from them.
"""

from __future__ import annotations

import fnmatch
from datetime import date, datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vvbuild.model.row import Name, Row, Text
from vvbuild.model.target import covered

ComponentSource = Literal["core-downloader", "github", "pypi", "npm", "url", "package"]
Flavour = Literal["voicevox", "microsoft", "pypi"]
ArchiveKind = Literal["vvpp", "7z"]
FloorKind = Literal["glibc", "glibcxx", "macos", "driver"]
Terms = Literal["file", "release-note"]
Unpack = Literal["whole", "strip-top", "no"]

COMPONENTS = (
    "engine", "core", "extra-cores", "downloader", "onnxruntime", "cuda", "cudnn", "directml",
    "zlibwapi", "additional-libraries", "models", "resource", "dictionary", "python",
    "pyinstaller",
)  # fmt: skip
ComponentName = Literal[
    "engine", "core", "extra-cores", "downloader", "onnxruntime", "cuda", "cudnn", "directml",
    "zlibwapi", "additional-libraries", "models", "resource", "dictionary", "python",
    "pyinstaller",
]  # fmt: skip


class Engine(Row, frozen=True, kw_only=True):
    """Where the engine's sources come from and how they are frozen."""

    version: Annotated[str, Meta(description="Version that the bundle reports.", min_length=1)]
    source: Annotated[
        Literal["package", "github"],
        Meta(description="`package`: shipped inside vvbuild; `github`: fetched by the lock."),
    ]
    repository: Annotated[
        str | None, Meta(description="`owner/name` on GitHub, where the source is `github`.")
    ] = None
    commit: Annotated[
        Annotated[str, Meta(pattern="^[0-9a-f]{40}$")] | None,
        Meta(description="The commit that is built, 40 hexadecimal digits."),
    ] = None
    recipe: Annotated[
        str, Meta(description="The file of `manifests/recipes/` that says what goes where.")
    ]
    time: Annotated[
        datetime,
        Meta(description="Time of the engine's commit: SOURCE_DATE_EPOCH and every file's time."),
    ]
    files: Annotated[
        dict[str, str],
        Meta(description="Path in the engine's root ← path in the vvbuild package."),
    ] = {}
    spec: Annotated[str, Meta(description="PyInstaller's spec file.")] = "run.spec"
    requirements: Annotated[
        str, Meta(description="Requirements with hashes that the engine is frozen with.")
    ] = "requirements.txt"
    program: Annotated[str, Meta(description="Name of the frozen program, without `.exe`.")] = "run"


class Python(Row, frozen=True, kw_only=True):
    """The interpreter that the engine is frozen with."""

    requires: Annotated[str, Meta(description="Version specifier, for example `==3.11.9`.")]


class Component(Row, frozen=True, kw_only=True):
    """A part that the release pins."""

    version: Annotated[Text, Meta(description="The pin.")]
    source: Annotated[ComponentSource, Meta(description="Who delivers it.")]
    licence: Annotated[str, Meta(description="SPDX expression or LicenseRef.")] = ""
    flavour: Annotated[Flavour | None, Meta(description="Whose build of ONNX Runtime it is.")] = (
        None
    )
    provided_by: Annotated[
        ComponentName | None, Meta(description="The component whose files hold it.")
    ] = None
    targets: Annotated[
        list[str], Meta(description="Names or globs of the targets that have it.")
    ] = msgspec.field(default_factory=lambda: ["*"])
    versions: Annotated[
        dict[str, str], Meta(description="Target or glob → version, where they differ.")
    ] = {}
    also: Annotated[
        list[Text], Meta(description="Further versions beside it; only `extra-cores` has them.")
    ] = []
    pattern: Annotated[
        str | None, Meta(description="Which files of the models are taken, as a glob.")
    ] = None
    note: Annotated[str, Meta(description="What a maintainer should know.")] = ""

    def glob_for(self, target: str) -> str | None:
        """The key of ``versions`` that counts for a target: the first that fits."""
        return next((glob for glob in self.versions if fnmatch.fnmatchcase(target, glob)), None)

    def version_for(self, target: str) -> str:
        """The version for a target: that of the glob that counts, else the pin."""
        glob = self.glob_for(target)
        return self.version if glob is None else self.versions[glob]

    def concerns(self, target: str) -> bool:
        """Whether bundles for ``target`` have it."""
        return covered(target, self.targets)


class ArtifactRow(Row, frozen=True, kw_only=True):
    """Files of a component. Placeholders in a reference are filled for each target.

    `{version}` is the component's version; the others are columns of `manifests/targets.toml`:
    `{core_os}`, `{core_arch}`, `{core_device}`, `{ort_os}`, `{ort_arch}`, `{ort_device}`,
    `{libraries}`.
    """

    component: Annotated[ComponentName, Meta(description="What it is a file of.")]
    targets: Annotated[
        list[str], Meta(description="Names or globs of targets, `*` for all.", min_length=1)
    ]
    references: Annotated[
        list[str], Meta(description="Ordered places to fetch it from.", min_length=1)
    ]
    name: Annotated[
        str | None, Meta(description="File name; by default the first reference's.")
    ] = None
    source: Annotated[
        ComponentSource | None, Meta(description="Where it differs from the component's.")
    ] = None
    assets: Annotated[
        str | None,
        Meta(
            description="Glob over a GitHub release's assets, each of which is an artifact; "
            "`{pattern}` is the component's, and `{asset}` in the reference stands for the name."
        ),
    ] = None
    into: Annotated[
        str, Meta(description="Folder of the component's tree that it is put into.")
    ] = ""
    unpack: Annotated[
        Unpack,
        Meta(
            description="`whole`: as the archive is; `strip-top`: without its one top folder; "
            "`no`: the file itself."
        ),
    ] = "whole"
    terms: Annotated[
        Terms | None,
        Meta(
            description="Where the text is that must be accepted first: `file`, the artifact "
            "itself; `release-note`, a block of its GitHub release's text."
        ),
    ] = None
    max_size: Annotated[
        str | None, Meta(description="Limit where nobody can know the size, such as `200MiB`.")
    ] = None


class Archives(Row, frozen=True, kw_only=True):
    """How bundles are packed."""

    stem: Annotated[
        str, Meta(description="File name without ending; `{target}`, `{upstream}`, `{version}`.")
    ]
    kinds: Annotated[
        tuple[ArchiveKind, ...], Meta(min_length=1, description="Formats that are packed.")
    ] = ("vvpp", "7z")
    top: Annotated[str, Meta(description="Top folder inside the `.7z`.")] = "{target}"
    zip_level: Annotated[int, Meta(ge=1, le=12, description="libdeflate level of `.vvpp`.")] = 8
    seven_zip_level: Annotated[int, Meta(ge=0, le=9, description="7-Zip's `-mx`.")] = 5
    volume_size: Annotated[str, Meta(description="Largest part, below 2 GiB.")] = "1900MiB"


class Waiver(Row, frozen=True, kw_only=True):
    """A written permission for a finding. It is shown, never silent."""

    rule: Annotated[Text, Meta(description="The rule whose finding is accepted.")]
    targets: Annotated[
        list[str], Meta(min_length=1, description="Names or globs of targets, `*` for all.")
    ]
    reason: Annotated[Text, Meta(description="Why it is accepted, for whoever reads it later.")]
    until: Annotated[date | None, Meta(description="The last day on which it counts.")] = None


class Release(Row, frozen=True, kw_only=True):
    """One versioned manifest: an engine at a commit with all its pins.

    With `extends` it inherits everything from another file beside it: tables key by key, all
    else as a whole; `schema`, `name` and `summary` are its own. A file whose name begins with
    `_` is there to be extended only.
    """

    schema: Literal["vvbuild.release/1"]
    name: Annotated[Name, Meta(description="The file's name without `.toml`.")]
    summary: Annotated[Text, Meta(description="One sentence for `vvbuild releases`.")]
    extends: Annotated[
        str | None, Meta(description="The release or base that it inherits from.")
    ] = None
    targets: Annotated[list[str], Meta(min_length=1, description="Targets that it is built for.")]
    engine: Engine
    python: Python
    components: dict[ComponentName, Component]
    archives: Archives
    artifacts: list[ArtifactRow] = []
    tools: Annotated[
        dict[str, str], Meta(description="Tool → version, from `manifests/tools.toml`.")
    ] = {}
    runners: Annotated[
        dict[str, str],
        Meta(description="Target → CI runner, where it is not that of `manifests/targets.toml`."),
    ] = {}
    upstream: Annotated[
        dict[str, str],
        Meta(description="Target → the engine's own name of it, where it was another one."),
    ] = {}
    waivers: Annotated[list[Waiver], Meta(description="Findings that are accepted.")] = []
    bootloader: Annotated[str, Meta(description="Compiler of the bootloader: a tool's name.")] = (
        "zig"
    )
    floors: Annotated[
        dict[FloorKind, str],
        Meta(
            description="The oldest system that is promised, where it is not the one of "
            "`manifests/bytes/floors.toml`; `host` promises no more than the building machine."
        ),
    ] = {}

    def versions_for(self, target: str) -> dict[str, str]:
        """Component → version of all that bundles for ``target`` have."""
        return {
            name: component.version_for(target)
            for name, component in self.components.items()
            if component.concerns(target)
        }
