"""Loading ``manifests/downloader.toml``: which downloader is asked how."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

from vvbuild import resources
from vvbuild.errors import MissingError
from vvbuild.manifest.decode import Problem, decode, read_document
from vvbuild.manifest.policy import VERSION
from vvbuild.manifest.targets import target_table
from vvbuild.model.downloader import (
    Contract,
    CoreWords,
    DownloaderCore,
    DownloaderGeneration,
    Downloaders,
)
from vvbuild.model.target import Platform, Target
from vvbuild.model.version import clauses, gaps, within


@resources.cached
def downloader_table() -> Downloaders:
    """The table, read once. Raises :class:`~vvbuild.errors.ManifestError`."""
    return load_downloaders(resources.manifest_file("downloader.toml"))


def load_downloaders(path: Path) -> Downloaders:
    """Load and check a table.

    Raises :class:`~vvbuild.errors.ManifestError` that names file, line and what was expected.
    """
    document = read_document(path)
    table = decode(document, Downloaders)
    problems = list(_problems(table))
    if problems:
        raise document.error(problems)
    return table


def find_contract(version: str) -> Contract:
    """The contract of the downloader that came with a core.

    Raises :class:`MissingError` for a core that no row covers.
    """
    table = downloader_table()
    for row in table.core:
        if within(version, row.versions):
            signs: dict[str, tuple[re.Pattern[str], ...]] = {
                sign: tuple(re.compile(each, re.IGNORECASE) for each in patterns)
                for sign, patterns in table.signs.items()
            }
            return Contract(version, row, table.generation[row.generation], signs)
    raise MissingError(
        f"Nobody has written down how the downloader of core {version} is asked.",
        context={"known": ", ".join(row.versions for row in table.core)},
        hint="`--fetcher direct` needs no downloader; or add a row to manifests/downloader.toml.",
    )


def core_words(target: Target) -> CoreWords:
    """How a downloader is told a target."""
    table = target_table()
    return CoreWords(
        table.os[target.os].core, table.arch[target.arch].core, table.device[target.device].core
    )


def _problems(table: Downloaders) -> Iterator[Problem]:
    for sign, patterns in table.signs.items():
        yield from _bad_patterns(("signs", sign), patterns)
    for name, generation in table.generation.items():
        for key, message in _generation_problems(generation):
            yield ("generation", name, *key), message
    for index, row in enumerate(table.core):
        for key, message in _core_problems(row, table):
            yield ("core", index, *key), message
    for (first, one), (second, two) in combinations(enumerate(table.core), 2):
        if _is_range(one.versions) and _is_range(two.versions) and _overlap(one, two):
            yield ("core", second, "versions"), f"overlaps with the range of row {first + 1}"


def _generation_problems(row: DownloaderGeneration) -> Iterator[Problem]:
    for name, part in row.parts.items():
        if VERSION not in part.spelling:
            yield ("parts", name, "spelling"), f"expected {VERSION} in it"
    brought = {name for call in row.calls for name in call.components}
    for name in row.parts:
        if name not in brought:
            yield ("parts", name), "no call brings it"
    for index, call in enumerate(row.calls):
        for name in (*call.components, *call.tells):
            if name not in row.parts:
                yield ("calls", index), f"{name!r} is not among the parts"
    if row.prompt is not None:
        yield from _bad_patterns(("prompt", "before"), row.prompt.before)


def _core_problems(row: DownloaderCore, table: Downloaders) -> Iterator[Problem]:
    if not _is_range(row.versions):
        yield ("versions",), "expected a range of versions such as >=0.16,<0.17"
    if row.generation not in table.generation:
        yield ("generation",), f"expected one of {', '.join(table.generation)}"
    for host in row.executables:
        if (complaint := _complaint(Platform.parse, host)) is not None:
            yield ("executables", host), complaint


def _bad_patterns(where: tuple[str, ...], patterns: list[str]) -> Iterator[Problem]:
    for index, pattern in enumerate(patterns):
        if (complaint := _complaint(re.compile, pattern)) is not None:
            yield (*where, index), f"not a regular expression: {complaint}"


def _is_range(text: str) -> bool:
    return _complaint(clauses, text) is None


def _complaint(read: Callable[[str], object], text: str) -> str | None:
    try:
        read(text)
    except (ValueError, re.error) as error:
        return str(error)
    return None


def _overlap(one: DownloaderCore, two: DownloaderCore) -> bool:
    # Some version lies in both just if some version lies in their conjunction.
    return gaps(f"{one.versions},{two.versions}", ())
