"""How far pins may move: the types of ``manifests/policy.toml``."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vvbuild.model.release import ComponentName
from vvbuild.model.row import Row, Text

Series = Literal["patch", "minor", "major"]

_AGE = re.compile(r"(\d{1,4})(h|d|w)", re.ASCII)
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


def parse_age(text: str) -> timedelta:
    """Read ``12h``, ``7d`` or ``2w``; ``ValueError`` says what was expected."""
    found = _AGE.fullmatch(text)
    if found is None:
        raise ValueError(f"expected an age such as 12h, 7d or 2w, got {text!r}")
    return timedelta(hours=int(found[1]) * _HOURS[found[2]])


class Held(Row, frozen=True, kw_only=True):
    """A component that must not move, and why."""

    version: Annotated[Text, Meta(description="The range it stays in, such as `<=1.17.3`.")]
    reason: Annotated[Text, Meta(description="Why, for whoever wants to move it later.")]
    until: Annotated[date | None, Meta(description="The last day on which it counts.")] = None


class DefaultPolicy(Row, frozen=True, kw_only=True):
    """What counts for every component whose own row does not say otherwise."""

    series: Annotated[
        Series,
        Meta(description="How far it may move: within x.y (`patch`), within x (`minor`), or on."),
    ]
    prereleases: Annotated[bool, Meta(description="Whether pre-releases are proposed.")]
    min_age: Annotated[
        str, Meta(description="How old a version must be to be proposed: `12h`, `7d`, `2w`.")
    ]


class ComponentPolicy(Row, frozen=True, kw_only=True):
    """How one component moves."""

    series: Annotated[Series | None, Meta(description="Where it differs from the default.")] = None
    prereleases: Annotated[bool | None, Meta(description="Where it differs from the default.")] = (
        None
    )
    min_age: Annotated[str | None, Meta(description="Where it differs from the default.")] = None
    held: Annotated[Held | None, Meta(description="A range that it must not leave.")] = None
    follows: Annotated[
        str | None,
        Meta(
            description="Where its versions are listed, where no reference of the manifest says "
            "it: `github:owner/repo@{version}`, `pypi:project` or `npm:package`."
        ),
    ] = None
    not_followed: Annotated[
        Text | None, Meta(description="Why nobody is asked for newer versions.")
    ] = None


class Together(Row, frozen=True, kw_only=True):
    """Components that fit each other only in certain versions."""

    components: Annotated[
        list[ComponentName], Meta(min_length=1, description="What moves together, two or more.")
    ]
    why: Annotated[Text, Meta(description="What breaks if one of them stays behind.")]
    steps: Annotated[
        list[Text], Meta(description="What a maintainer does or looks at, one line each.")
    ] = msgspec.field(default_factory=list)


class Policy(Row, frozen=True, kw_only=True):
    """``manifests/policy.toml``: what ``vvbuild outdated`` proposes."""

    schema: Literal["vvbuild.policy/1"]
    default: DefaultPolicy
    components: dict[ComponentName, ComponentPolicy] = msgspec.field(default_factory=dict)
    together: list[Together] = msgspec.field(default_factory=list)

    def of(self, component: str) -> ComponentPolicy:
        """The row of a component; an empty one where there is none."""
        rows = {str(name): row for name, row in self.components.items()}
        return rows.get(component) or ComponentPolicy()
