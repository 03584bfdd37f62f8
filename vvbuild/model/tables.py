"""The tables of ``manifests/`` that hold for every release: targets, tools, hosts."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from vvbuild.model.row import Row, Text
from vvbuild.model.target import Arch, Device, Os


class OsRow(Row, frozen=True, kw_only=True):
    """How others spell an operating system."""

    core: str
    onnxruntime: str
    package: str
    python: str
    program_suffix: str
    shell: Annotated[str, Meta(description="`shell` of the steps of a CI job on it.")]


class ArchRow(Row, frozen=True, kw_only=True):
    """How others spell a processor."""

    core: str
    onnxruntime: str
    machines: list[str]


class DeviceRow(Row, frozen=True, kw_only=True):
    """How others spell a device."""

    core: str
    onnxruntime: str
    additional_libraries: str


class PlatformRow(Row, frozen=True, kw_only=True):
    """How others spell an operating system on a processor."""

    pyinstaller: str
    zig: str
    wheel: str
    onnxruntime_arch: str | None = None
    waf_arch: str | None = None


class TargetRow(Row, frozen=True, kw_only=True):
    """An official target."""

    upstream: str
    runner: str
    core_device: str | None = None
    aliases: list[str] = []


class Targets(Row, frozen=True, kw_only=True):
    """``manifests/targets.toml``."""

    schema: Literal["vvbuild.targets/1"]
    os: dict[Os, OsRow]
    arch: dict[Arch, ArchRow]
    device: dict[Device, DeviceRow]
    platform: dict[str, PlatformRow]
    target: dict[str, TargetRow]


class ToolVersion(Row, frozen=True, kw_only=True):
    """A version of a program that vvbuild runs."""

    licence: Annotated[str, Meta(description="SPDX expression.")]
    member: Annotated[str, Meta(description="The program inside the package.")]
    references: Annotated[
        dict[str, str], Meta(description="Host (`linux-x64`) → reference; `{version}` as above.")
    ]


class Tools(Row, frozen=True, kw_only=True):
    """``manifests/tools.toml``: tool → version → where it is."""

    schema: Literal["vvbuild.tools/1"]
    tools: dict[str, dict[str, ToolVersion]]


class HostNeed(Row, frozen=True, kw_only=True):
    """Something that a machine must have to freeze."""

    name: Annotated[Text, Meta(description="What `doctor` calls it.")]
    os: Annotated[list[Os], Meta(description="Systems that need it to freeze.")]
    programs: Annotated[list[str], Meta(description="Programs that must be on PATH.")]
    why: Annotated[Text, Meta(description="What it is needed for.")]
    install: Annotated[
        dict[str, str], Meta(description="Family → line; `{python}` is such as 3.11.")
    ]
    shared_python: Annotated[
        bool, Meta(description="Whether the interpreter's shared library is meant.")
    ] = False


class HostTable(Row, frozen=True, kw_only=True):
    """``manifests/host.toml``."""

    schema: Literal["vvbuild.host/1"]
    families: Annotated[
        dict[str, list[str]], Meta(description="Family → ids of os-release(5) that belong to it.")
    ]
    need: list[HostNeed]
