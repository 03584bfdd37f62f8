"""What-if: pins that are changed for one check, without touching the manifest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, get_args

import msgspec

from vvbuild.errors import UnknownNameError, UsageError
from vvbuild.manifest.compat import compat_tables
from vvbuild.manifest.decode import no_such
from vvbuild.model.release import COMPONENTS, Component, ComponentName, Flavour, Release

_FLAVOURS: tuple[str, ...] = get_args(Flavour)
_VERSION = re.compile(r"[0-9][0-9A-Za-z._+-]*")
_EXAMPLE = "Write it like --set onnxruntime=1.23.2 or --set onnxruntime=pypi:1.27.0."
# What is told of a text that may be of any length.
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Override:
    """A component's version for one check; ``flavour`` only where another one is meant."""

    component: ComponentName
    version: str
    flavour: Flavour | None = None


def parse_override(text: str) -> Override:
    """Read ``component=version`` or ``onnxruntime=flavour:version``.

    Raises :class:`UsageError`, for a name that is none :class:`UnknownNameError`.
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"Expected component=version, got {_shown(text)}.", hint=_EXAMPLE)
    if name not in COMPONENTS:
        raise UnknownNameError(no_such("component", name, COMPONENTS), hint=_EXAMPLE)
    flavour, colon, version = value.rpartition(":")
    if colon and name != "onnxruntime":
        raise UsageError(f"Only onnxruntime has flavours, got {_shown(text)}.", hint=_EXAMPLE)
    if colon and flavour not in _FLAVOURS:
        raise UnknownNameError(no_such("flavour", flavour, _FLAVOURS), hint=_EXAMPLE)
    if not _VERSION.fullmatch(version):
        raise UsageError(
            f"Expected a version such as 1.23.2, got {_shown(version)}.", hint=_EXAMPLE
        )
    # Both were looked up above.
    return Override(cast(ComponentName, name), version, cast(Flavour, flavour) if colon else None)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def with_overrides(release: Release, overrides: Sequence[Override]) -> Release:
    """The release with other pins. What an overridden component provides moves with it.

    ``extra-cores`` can be set several times and without being in the release. Raises
    :class:`UsageError` for a component that the release has not, that another one provides, or
    that is set twice.
    """
    components = dict(release.components)
    engine, python = release.engine, release.python
    _refuse_twice(overrides)
    for each in overrides:
        if each.component == "python":
            python = msgspec.structs.replace(python, requires=f"=={each.version}")
        elif each.component == "engine":
            engine = msgspec.structs.replace(engine, version=each.version)
        elif each.component == "extra-cores":
            continue
        else:
            components[each.component] = _overridden(release, each)
            components.update(_moved_along(components, each))
    extra = [each.version for each in overrides if each.component == "extra-cores"]
    if extra:
        like = release.components.get("extra-cores") or _present(release, "core")
        components["extra-cores"] = msgspec.structs.replace(
            like, version=extra[0], versions={}, also=extra[1:]
        )
    return msgspec.structs.replace(release, components=components, engine=engine, python=python)


def _refuse_twice(overrides: Sequence[Override]) -> None:
    seen: dict[str, Override] = {}
    for each in overrides:
        if each.component in seen and each.component != "extra-cores":
            raise UsageError(
                f"{each.component} is set twice, to {seen[each.component].version} "
                f"and to {each.version}."
            )
        seen[each.component] = each


def _present(release: Release, name: ComponentName) -> Component:
    if name not in release.components:
        raise UsageError(
            f"{release.name} has no component {name!r}.",
            context={"components": ", ".join(sorted(release.components))},
        )
    return release.components[name]


def _overridden(release: Release, override: Override) -> Component:
    component = _present(release, override.component)
    provider = component.provided_by
    if provider is not None:
        raise UsageError(
            f"{override.component} of {release.name} is provided by {provider}, "
            "so it cannot be chosen alone.",
            hint=f"Set {provider} instead: --set {provider}=VERSION "
            f"(now {_present(release, provider).version}).",
        )
    return msgspec.structs.replace(
        component,
        version=override.version,
        versions={},
        flavour=override.flavour or component.flavour,
    )


def _moved_along(
    components: dict[ComponentName, Component], override: Override
) -> dict[ComponentName, Component]:
    row = compat_tables().libraries.row(override.version)
    if override.component != "additional-libraries" or row is None:
        return {}
    return {
        name: msgspec.structs.replace(components[name], version=version, versions={})
        for name, version in row.packs().items()
        if name in components and components[name].provided_by == override.component
    }
