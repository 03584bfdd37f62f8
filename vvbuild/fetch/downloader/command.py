"""From a contract and a request to the runs of the program. Pure: nothing is started here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vvbuild.errors import UsageError
from vvbuild.fetch.downloader.request import DownloadRequest
from vvbuild.model.downloader import Contract, DownloaderCall, DownloaderGeneration


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run: what it brings, and with which arguments.

    ``folders`` says per component where in the output its files lie, ``""`` for the output
    itself. Files that match one of ``also_leaves`` come along unasked.
    """

    components: tuple[str, ...]
    arguments: tuple[str, ...]
    output_flag: str
    folders: dict[str, str]
    also_leaves: tuple[str, ...]
    may_ask: bool

    @property
    def title(self) -> str:
        """How it is called in messages."""
        return " and ".join(self.components)

    def arguments_into(self, output: str) -> list[str]:
        """The arguments of a run that writes into the directory ``output``."""
        return [*self.arguments, self.output_flag, output]


def invocations(contract: Contract, request: DownloadRequest) -> tuple[Invocation, ...]:
    """The runs that bring what is wanted, as few components in each as the contract allows.

    So a failure costs one component, and only that one is fetched again. Raises
    :class:`UsageError` for what this downloader cannot bring.
    """
    generation = contract.generation
    missing = list(request.wanted)
    chosen: list[DownloaderCall] = []
    while missing:
        call = _best(generation, missing, request)
        if call is None:
            raise UsageError(
                f"The downloader of core {contract.version} cannot bring {missing[0]}"
                f" {_alone(generation, missing[0])}.",
                context={"brings": ", ".join(generation.parts)},
                hint="`--fetcher direct` can.",
            )
        chosen.append(call)
        missing = [name for name in missing if name not in call.components]
    return tuple(_invocation(generation, call, request) for call in chosen)


def _alone(generation: DownloaderGeneration, component: str) -> str:
    return "alone" if component in generation.parts else "at all"


def _best(
    generation: DownloaderGeneration, missing: list[str], request: DownloadRequest
) -> DownloaderCall | None:
    """The call that brings the first missing one with the fewest that nobody wants."""
    possible = [
        call
        for call in generation.calls
        # What comes along must be known, or it could not be told from strangers.
        if missing[0] in call.components and set(call.components) <= set(request.parts)
    ]

    def unwanted(call: DownloaderCall) -> tuple[int, int]:
        fresh = len(set(call.components) & set(missing))
        return len(call.components) - fresh, -fresh

    return min(possible, key=unwanted, default=None)


def _invocation(
    generation: DownloaderGeneration, call: DownloaderCall, request: DownloadRequest
) -> Invocation:
    prompt = generation.prompt
    return Invocation(
        components=tuple(call.components),
        arguments=tuple(_arguments(generation, call, request)),
        output_flag=generation.flags.output,
        folders={name: generation.parts[name].folder for name in call.components},
        also_leaves=tuple(call.also_leaves),
        may_ask=prompt is not None and not set(prompt.components).isdisjoint(call.components),
    )


def _arguments(
    generation: DownloaderGeneration, call: DownloaderCall, request: DownloadRequest
) -> Iterator[str]:
    flags, words = generation.flags, request.words
    yield from call.arguments
    for name in (*call.components, *call.tells):
        wanted, part = request.parts.get(name), generation.parts[name]
        if wanted is None or (name in call.tells and request.target.device == "cpu"):
            continue
        if part.version is not None:
            yield from (part.version, part.spelling.replace("{version}", wanted.version))
        if part.repository_flag is not None and wanted.repository not in (None, part.repository):
            yield from (part.repository_flag, str(wanted.repository))
    if call.device:
        yield from (flags.device, words.device)
    yield from (flags.os, words.os)
    yield from (flags.arch, words.arch)
    pattern = request.models_pattern
    if flags.models_pattern is not None and pattern is not None and "models" in call.components:
        yield from (flags.models_pattern, pattern)
    if flags.tries is not None:
        yield from (flags.tries, str(request.tries))
