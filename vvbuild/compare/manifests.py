"""What two manifests say differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

import msgspec

from vvbuild.compare.differences import Change, WaiverText
from vvbuild.manifest.release import LoadedRelease
from vvbuild.manifest.targets import official_targets
from vvbuild.model.release import Component, ComponentName, Release
from vvbuild.model.target import Target

# What is compared by its meaning instead, or is a release's own by nature.
_APART = {
    "schema", "name", "summary", "extends", "targets", "components", "artifacts", "runners",
    "upstream", "waivers",
}  # fmt: skip
_COMPONENTS: tuple[ComponentName, ...] = get_args(ComponentName)
_FIELDS = ("also", "source", "flavour", "provided_by", "pattern", "licence")


def target_changes(before: LoadedRelease, after: LoadedRelease) -> Iterator[Change]:
    """The targets that only one of them is built for."""
    for target in official_targets():
        name = str(target)
        old, new = (name if target in each.targets else None for each in (before, after))
        if old != new:
            yield Change("target", old, new, (target,))


def setting_changes(before: Release, after: Release) -> Iterator[Change]:
    """Everything of the manifests that is no pin: the engine, Python, tools, archives."""
    left, right = _settings(before), _settings(after)
    tables = Release.__struct_fields__
    for key in sorted({*left, *right}, key=lambda it: (tables.index(it.partition(".")[0]), it)):
        if left.get(key) != right.get(key):
            yield Change(key, left.get(key), right.get(key))


def pin_changes(before: Release, after: Release, common: Sequence[Target]) -> Iterator[Change]:
    """The components that are pinned otherwise, for which of the targets of both."""
    for name in _COMPONENTS:
        left, right = before.components.get(name), after.components.get(name)
        old, new = _versions(left, before), _versions(right, after)
        shared = [target for target in common if target in old or target in new]
        if shared:
            pairs = {target: (old.get(target), new.get(target)) for target in shared}
            yield from _grouped(f"{name}.version", pairs)
        elif old or new:
            yield from _apart(f"{name}.version", old, new)
        if left is not None and right is not None and old and new:
            for field in _FIELDS:
                was, becomes = (_text(getattr(each, field)) for each in (left, right))
                if was != becomes:
                    yield Change(f"{name}.{field}", was, becomes)


def job_changes(
    before: LoadedRelease, after: LoadedRelease, common: Sequence[Target]
) -> Iterator[Change]:
    """Other CI runners, and other names that upstream gives to a target."""
    yield from _grouped(
        "runner", {each: (before.runner(each), after.runner(each)) for each in common}
    )
    yield from _grouped(
        "upstream",
        {each: (before.upstream_name(each), after.upstream_name(each)) for each in common},
    )


def waivers_of(release: Release) -> Counter[WaiverText]:
    """The waivers, each as often as it is written."""
    return Counter(
        WaiverText(each.rule, tuple(each.targets), each.reason, each.until)
        for each in release.waivers
    )


def _settings(release: Release) -> dict[str, str]:
    table = msgspec.to_builtins(release)
    return dict(_flat({key: value for key, value in table.items() if key not in _APART}))


def _flat(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        elif (text := _text(value)) is not None:
            yield f"{prefix}{key}", text


def _text(value: object) -> str | None:
    """A value as a line; ``None`` for nothing."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or None
    return None if value in (None, "") else str(value)


def _versions(component: Component | None, release: Release) -> dict[Target, str]:
    """The version for each target that the release is built for and that has the component."""
    return {
        Target.parse(name): component.version_for(name)
        for name in release.targets
        if component is not None and component.concerns(name)
    }


def _grouped(key: str, pairs: Mapping[Target, tuple[str | None, str | None]]) -> Iterator[Change]:
    """One change for all targets that change alike."""
    groups: dict[tuple[str | None, str | None], list[Target]] = {}
    for target, (before, after) in pairs.items():
        if before != after:
            groups.setdefault((before, after), []).append(target)
    for (before, after), targets in groups.items():
        yield Change(key, before, after, tuple(targets))


def _apart(key: str, old: Mapping[Target, str], new: Mapping[Target, str]) -> Iterator[Change]:
    """A component that no target of both has: all of its versions, side by side."""
    before, after = (", ".join(sorted(set(each.values()))) or None for each in (old, new))
    if before != after:
        concerned = [each for each in official_targets() if each in old or each in new]
        yield Change(key, before, after, tuple(concerned))
