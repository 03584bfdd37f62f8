"""The one table of spellings, and the names that people give to targets."""

from __future__ import annotations

import difflib
import platform
import sys
from collections.abc import Mapping
from types import MappingProxyType

from vvbuild import resources
from vvbuild.errors import MissingError, UnknownNameError
from vvbuild.manifest.decode import decode, read_document
from vvbuild.model.tables import PlatformRow, TargetRow, Targets
from vvbuild.model.target import Platform, Target


@resources.cached
def target_table() -> Targets:
    """``targets.toml``."""
    return decode(read_document(resources.manifest_file("targets.toml")), Targets)


@resources.cached
def official_targets() -> Mapping[Target, TargetRow]:
    """The official targets, in the order of the table."""
    rows = {Target.parse(name): row for name, row in target_table().target.items()}
    return MappingProxyType(rows)


def find_target(name: str) -> Target:
    """The official target of that name or of an upstream spelling of it.

    Raises :class:`UnknownNameError` with the nearest names.
    """
    names: dict[str, Target] = {}
    for target, row in official_targets().items():
        for spelling in (str(target), row.upstream, *row.aliases):
            names[spelling] = target
    wanted = name.strip().lower()
    if wanted in names:
        return names[wanted]
    raise UnknownNameError(
        f"There is no target {name!r}.",
        context={"targets": ", ".join(str(target) for target in official_targets())},
        hint=f"Did you mean {_nearest_targets(wanted, names)}?",
    )


def _nearest_targets(wanted: str, names: dict[str, Target]) -> str:
    # Whole words count first: `linux-arm64-cuda` is near the targets that share two of three.
    words = set(wanted.replace("_", "-").split("-"))
    scored = {
        target: max(
            len(words & set(spelling.split("-")))
            + difflib.SequenceMatcher(None, wanted, spelling).ratio()
            for spelling, its_target in names.items()
            if its_target == target
        )
        for target in names.values()
    }
    best = sorted(scored, key=lambda target: (-scored[target], str(target)))[:3]
    return " or ".join(str(target) for target in best)


def platform_row(where: Platform) -> PlatformRow:
    """How others spell ``where``."""
    return target_table().platform[str(where)]


def program_name(program: str, where: Platform) -> str:
    """The file name of a program on that system."""
    return program + target_table().os[where.os].program_suffix


def host_platform() -> Platform:
    """What this machine is. Raises :class:`MissingError` on a system that no target is for."""
    table = target_table()
    machine = platform.machine()
    for os_name, os_row in table.os.items():
        for arch_name, arch_row in table.arch.items():
            if sys.platform == os_row.python and machine in arch_row.machines:
                return Platform(os_name, arch_name)
    raise MissingError(
        f"No target is for this machine ({sys.platform}, {machine}).",
        hint="Use one of the systems that `vvbuild targets` lists.",
    )
