"""The core's downloader as data: the types of ``manifests/downloader.toml``.

A program that is driven by flags has a contract, and VOICEVOX CORE's has changed it four times.
Each way of asking is a generation; which core speaks which is a row. No code knows a version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vvbuild.errors import HostToolMissingError
from vvbuild.model.release import ComponentName
from vvbuild.model.row import Row, Text
from vvbuild.model.target import Platform

Kept = Literal["kept", "dropped"]
RetryUnit = Literal["none", "call"]
Sign = Literal["rate-limited", "not-found", "disk-full", "out-of-memory"]


class DownloaderFlags(Row, frozen=True, kw_only=True):
    """Flags that every call may have. Their words are the column `core` of `targets.toml`."""

    output: Annotated[Text, Meta(description="The directory that it writes into.")]
    os: Annotated[Text, Meta(description="The operating system of the target.")]
    arch: Annotated[Text, Meta(description="The processor of the target.")]
    device: Annotated[Text, Meta(description="The device of the target.")]
    tries: Annotated[
        str | None, Meta(description="How often it tries; missing where it tries once.")
    ] = None
    models_pattern: Annotated[
        str | None, Meta(description="A glob of models; missing where it takes all.")
    ] = None


class DownloaderPart(Row, frozen=True, kw_only=True):
    """How one component is asked for, and where its files come to lie."""

    folder: Annotated[
        str, Meta(description="Folder of the output that is the component's; empty for the output.")
    ]
    version: Annotated[
        str | None, Meta(description="Flag of its version; missing where it cannot be chosen.")
    ] = None
    spelling: Annotated[
        str, Meta(description="How the version is written; `{version}` is the component's.")
    ] = "{version}"
    repository: Annotated[Text, Meta(description="`owner/name` that it asks by default.")]
    repository_flag: Annotated[
        str | None, Meta(description="Flag of another repository; missing where there is none.")
    ] = None


class DownloaderCall(Row, frozen=True, kw_only=True):
    """One run of the program, and what it brings."""

    components: Annotated[
        list[ComponentName], Meta(min_length=1, description="What this run brings.")
    ]
    arguments: Annotated[list[str], Meta(description="What chooses just that.")] = msgspec.field(
        default_factory=list
    )
    device: Annotated[
        bool,
        Meta(
            description="Whether it is told the device. A device other than the CPU makes it look "
            "up the additional libraries even where they are not wanted."
        ),
    ] = False
    tells: Annotated[
        list[ComponentName],
        Meta(description="Further components whose versions it is told, since it looks them up."),
    ] = msgspec.field(default_factory=list)
    also_leaves: Annotated[
        list[str], Meta(description="Globs of files that nobody asked for; they are dropped.")
    ] = msgspec.field(default_factory=list)


class DownloaderPrompt(Row, frozen=True, kw_only=True):
    """How it asks for consent: the text on standard output, the question on standard error."""

    components: Annotated[
        list[ComponentName], Meta(min_length=1, description="What it may ask for.")
    ]
    yes: Annotated[Text, Meta(description="The answer that accepts.")]
    no: Annotated[Text, Meta(description="The answer that declines; it then fails.")]
    before: Annotated[
        list[str],
        Meta(description="Regular expressions of lines that it sets before each text."),
    ] = msgspec.field(default_factory=list)


class DownloaderDamage(Row, frozen=True, kw_only=True):
    """What its unpacking does to an archive's tree."""

    links: Annotated[Kept, Meta(description="What becomes of symbolic links.")]
    exec_bits: Annotated[Kept, Meta(description="What becomes of execute bits.")]


class DownloaderGeneration(Row, frozen=True, kw_only=True):
    """One contract."""

    summary: Annotated[Text, Meta(description="What is special about it, in a sentence.")]
    token: Annotated[
        list[Text],
        Meta(min_length=1, description="Variables that it reads a GitHub token from, in order."),
    ]
    usage_exit: Annotated[int, Meta(description="Exit status of arguments that it refuses.")] = 2
    retries: Annotated[
        RetryUnit, Meta(description="What it repeats by itself: nothing, or all of a call.")
    ]
    checks_status: Annotated[
        bool, Meta(description="Whether it notices an error page in place of a file.")
    ]
    in_memory: Annotated[
        bool, Meta(description="Whether it holds whole archives in memory, and what they hold.")
    ]
    flags: DownloaderFlags
    parts: Annotated[
        dict[ComponentName, DownloaderPart], Meta(min_length=1, description="What it brings.")
    ]
    calls: Annotated[
        list[DownloaderCall], Meta(min_length=1, description="The runs that it can be asked for.")
    ]
    prompt: Annotated[
        DownloaderPrompt | None, Meta(description="Missing where it never asks for consent.")
    ] = None
    damage: DownloaderDamage


class DownloaderCore(Row, frozen=True, kw_only=True):
    """The downloaders that came with some cores."""

    versions: Annotated[Text, Meta(description="Range of cores, such as `>=0.16,<0.17`.")]
    generation: Annotated[Text, Meta(description="The contract: a name of `[generation]`.")]
    executables: Annotated[
        dict[str, Text], Meta(min_length=1, description="Host → asset of the core's release.")
    ]
    source: Annotated[Text, Meta(description="Where the row comes from.")]
    note: Annotated[str, Meta(description="What a maintainer should know.")] = ""


class Downloaders(Row, frozen=True, kw_only=True):
    """``manifests/downloader.toml``."""

    schema: Literal["vvbuild.downloader/1"]
    signs: Annotated[
        dict[Sign, list[str]],
        Meta(description="Kind of failure → regular expressions for its last lines, any case."),
    ]
    generation: dict[str, DownloaderGeneration]
    core: list[DownloaderCore]


@dataclass(frozen=True, slots=True)
class CoreWords:
    """How the core and its downloader spell a target."""

    os: str
    arch: str
    device: str


@dataclass(frozen=True, slots=True)
class Contract:
    """What is known of the downloader of one core."""

    version: str
    core: DownloaderCore
    generation: DownloaderGeneration
    signs: Mapping[str, tuple[re.Pattern[str], ...]]

    def executable(self, host: Platform) -> str:
        """The asset of the core's release that runs on ``host``.

        Raises :class:`HostToolMissingError` where there is none.
        """
        name = self.core.executables.get(str(host))
        if name is None:
            raise HostToolMissingError(
                f"The downloader of core {self.version} is not made for {host}.",
                context={"hosts": ", ".join(self.core.executables)},
                hint="`--fetcher direct` fetches the same files without it.",
            )
        return name

    def shows(self, sign: Sign, text: str) -> bool:
        """Whether the program's last lines are a sign of that kind of failure."""
        return any(pattern.search(text) for pattern in self.signs.get(sign, ()))
