"""The engine's packages as wheels: which ones fit, and where the store keeps them by name.

A wheel of the store is a tree of one file with the wheel's name, remembered under a key made from
its digest: as what a step makes, it is verified, pruned and cleaned like everything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from vvbuild.bundle.requirements import (
    Requirement,
    marker_environments,
    read_requirements,
    wheel_platform,
)
from vvbuild.errors import OfflineError
from vvbuild.fetch.store import Store
from vvbuild.fetch.store.place import named
from vvbuild.manifest.targets import platform_row
from vvbuild.model.artifact import check_file_name
from vvbuild.model.digest import Digest
from vvbuild.model.target import Platform
from vvbuild.model.tree import Entry, Tree
from vvbuild.runtime.files import write_atomically

if TYPE_CHECKING:
    from packaging.tags import Tag

# Stands for every system that fits a host, so that its many spellings need not be listed.
_HERE = "here"
# Above every version of macOS, since those are listed downwards.
_NEWEST_MACOS = (99, 0)


def wheel_fits(name: str, requirement: Requirement, series: str, host: Platform) -> bool:
    """Whether a file of that name is a wheel of the package, for CPython ``series`` on a host.

    Any release of the host's system counts: which one a machine has, only that machine knows.
    """
    parsed = _parse(name)
    if parsed is None:
        return False
    project, version, tags = parsed
    if (project, version) != (requirement.name, _version(requirement.version)):
        return False
    pairs, is_here = _interpreters(series), _systems(host)
    return any(
        (each.interpreter, each.abi, _HERE if is_here(each.platform) else each.platform) in pairs
        for each in tags
    )


def is_wheel(name: str) -> bool:
    """Whether a file is called as a wheel must be."""
    return _parse(name) is not None


@lru_cache(maxsize=65536)
def _parse(name: str) -> tuple[str, str, frozenset[Tag]] | None:
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    try:
        project, version, _, tags = parse_wheel_filename(check_file_name(name))
    except (InvalidWheelFilename, ValueError):
        return None
    return project, str(version), tags


@lru_cache(maxsize=4096)
def _version(text: str) -> str:
    from packaging.version import InvalidVersion, Version

    try:
        return str(Version(text))
    except InvalidVersion:
        return text


@lru_cache(maxsize=64)
def _interpreters(series: str) -> frozenset[tuple[str, str, str]]:
    from packaging.tags import compatible_tags, cpython_tags

    numbers = [int(part) for part in series.split(".")]
    own = f"cp{''.join(map(str, numbers))}"
    found = [
        *cpython_tags(numbers, [own], [_HERE]),
        *compatible_tags(numbers, own, [_HERE]),
    ]
    return frozenset((tag.interpreter, tag.abi, tag.platform) for tag in found)


@lru_cache(maxsize=64)
def _systems(host: Platform) -> Callable[[str], bool]:
    """Which platforms of wheels run on some release of a host's system."""
    family, machine = wheel_platform(host)
    if family == "macosx":
        from packaging.tags import mac_platforms

        return frozenset(mac_platforms(_NEWEST_MACOS, machine)).__contains__
    if family == "manylinux":
        pattern = re.compile(rf"(many)?linux\w*_{machine}")
        return lambda platform: pattern.fullmatch(platform) is not None
    return platform_row(host).wheel.__eq__


# In the store


def shelve(store: Store, name: str, digest: Digest, size: int) -> None:
    """Let a wheel that is in the store be found by its digest, together with its name."""
    tree = Tree.of([Entry(name, "file", digest, size)])
    key = _key(digest)
    if (store.record(key) or {}).get("tree") == tree.digest.hex and store.read_tree(tree.digest):
        return
    data = msgspec.json.encode([entry.as_json() for entry in tree.entries])
    with named(f"remember {name} in the store"):
        write_atomically(store.sharded("trees", tree.digest), data)
    record = {"tree": tree.digest.hex, "facts": {}, "seconds": 0.0}
    store.write_record(key, {"step": f"wheel {name}", **record})


def shelved(store: Store, digest: Digest) -> Entry | None:
    """The wheel of that digest, if the store has it and knows its name."""
    record = store.record(_key(digest)) or {}
    try:
        tree = store.load_tree(Digest(str(record.get("tree"))))
    except ValueError:
        return None
    entries = tree.entries if tree is not None else ()
    good = len(entries) == 1 and entries[0].digest == digest and is_wheel(entries[0].path)
    return entries[0] if good else None


def _key(digest: Digest) -> Digest:
    return Digest.of_json(["wheel", digest.hex])


@dataclass(frozen=True, slots=True)
class Wheels:
    """A directory with the wheels of some requirements, and the packages that have none."""

    directory: Path
    missing: tuple[str, ...]

    @property
    def complete(self) -> Path | None:
        """The directory, if nothing is missing in it."""
        return None if self.missing else self.directory

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Let the error of a missing package name all that are missing."""
        try:
            yield
        except OfflineError as error:
            number = len(self.missing)
            raise OfflineError(
                f"{number} package{'' if number == 1 else 's'} of the engine "
                f"{'is' if number == 1 else 'are'} not in the store, and --offline forbids to "
                "fetch them.",
                context={**error.context, "missing": ", ".join(self.missing)},
                hint="Run once without --offline, or import a mirror.",
            ) from error


def lay_out_wheels(
    store: Store, text: str, python_version: str, host: Platform, directory: Path
) -> Wheels:
    """Lay out the wheels that a requirements file needs on this host and the store has.

    They are hard links into the store where that can be; the directory is for readers.
    """
    directory.mkdir(parents=True)
    series = ".".join(python_version.split(".")[:2])
    environments = marker_environments(host, [python_version])
    missing = []
    for requirement in read_requirements(text):
        if not requirement.needed(environments):
            continue
        found = fitting(requirement, series, host, _shelves(store, requirement))
        if not found:
            missing.append(str(requirement))
        for name, digest in found.items():
            store.export(Tree.of([Entry(name, "file", digest)]), directory)
    return Wheels(directory, tuple(missing))


def fitting(
    requirement: Requirement, series: str, host: Platform, files: Iterable[tuple[str, Digest]]
) -> Mapping[str, Digest]:
    """The wheels among named files that a requirement admits, for CPython ``series`` on a host."""
    return {
        name: digest
        for name, digest in files
        if digest in requirement.hashes and wheel_fits(name, requirement, series, host)
    }


def _shelves(store: Store, requirement: Requirement) -> Iterator[tuple[str, Digest]]:
    for digest in sorted(requirement.hashes, key=str):
        if (entry := shelved(store, digest)) is not None:
            yield entry.path, digest
