"""The lock as written in ``manifests/locks/``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from vvbuild.model.row import Row, Text


class Member(Row, frozen=True, kw_only=True):
    """A file or link of an unpacked artifact."""

    sha256: Annotated[
        Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None,
        Meta(description="What its bytes must be; missing for a link."),
    ] = None
    size: Annotated[int, Meta(ge=0, description="Its size in bytes.")] = 0
    program: Annotated[bool, Meta(description="Whether it has execute bits.")] = False
    link: Annotated[str | None, Meta(description="What a symbolic link says.")] = None


class LockedArtifact(Row, frozen=True, kw_only=True):
    """An artifact with its bytes fixed."""

    name: Annotated[Text, Meta(description="File name in the store's steps.")]
    component: Annotated[Text, Meta(description="What it is a file of; for tools, the tool.")]
    version: Annotated[Text, Meta(description="The component's version.")]
    references: Annotated[
        list[str], Meta(min_length=1, description="Ordered places to fetch it from.")
    ]
    sha256: Annotated[
        Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None,
        Meta(description="What its bytes must be; missing only with `unlocked`."),
    ] = None
    unlocked: Annotated[
        str | None, Meta(description="Why nobody could know its digest; it is not fetched.")
    ] = None
    targets: Annotated[
        list[str], Meta(description="Targets that need it; for tools, hosts that run it.")
    ]
    size: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="Its exact size in bytes.")
    ] = None
    max_size: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="The most bytes that are read, where nobody could know the size."),
    ] = None
    licence: Annotated[str, Meta(description="SPDX expression or LicenseRef.")] = ""
    members: Annotated[
        dict[str, Member],
        Meta(description="Path in the component's tree → what the downloader must leave there."),
    ] = {}
    terms: Annotated[
        Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None,
        Meta(description="SHA-256 of the text, in `locks/terms/`, that must be accepted first."),
    ] = None
    provenance: Annotated[dict[str, str], Meta(description="Fact → where it came from.")] = {}


class LockFile(Row, frozen=True, kw_only=True):
    """The artifacts of a release for all targets, made from one state of its manifest."""

    schema: Literal["vvbuild.lock/1"]
    release: Annotated[Text, Meta(description="The release's name, or `tools`.")]
    manifest_sha256: Annotated[
        str, Meta(pattern="^[0-9a-f]{64}$", description="Digest of the pins it was made from.")
    ]
    artifacts: list[LockedArtifact]
