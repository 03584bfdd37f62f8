"""What must move together with a proposed pin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vvbuild.model.policy import Policy
from vvbuild.model.release import Release


@dataclass(frozen=True, slots=True)
class Member:
    """A component of a group; ``proposed`` is ``None`` where it stays."""

    component: str
    pinned: str
    proposed: str | None
    provided_by: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Components that fit each other only in certain versions, and what to look at."""

    why: str
    members: tuple[Member, ...]
    steps: tuple[str, ...]

    @property
    def names(self) -> set[str]:
        """The members' names."""
        return {member.component for member in self.members}


def checklist(release: Release, pins: Mapping[str, str], policy: Policy) -> tuple[Group, ...]:
    """The policy's groups of which a component would move, with what stays behind.

    A group whose members all stand in one before it is left out.
    """
    rows = {str(name): row for name, row in release.components.items()}
    groups: list[Group] = []
    for together in policy.together:
        names = [name for name in together.components if name in rows]
        if len(names) < 2 or not pins.keys() & set(names):
            continue
        members = [
            Member(name, rows[name].version, pins.get(name), rows[name].provided_by)
            for name in (*names, *_provided(rows, names))
        ]
        if any({each.component for each in members} <= group.names for group in groups):
            # What the group says is a part of what another one said already.
            continue
        groups.append(Group(together.why, tuple(members), tuple(together.steps)))
    return tuple(groups)


def _provided(rows: Mapping[str, object], names: Sequence[str]) -> list[str]:
    """What the members bring along and the group does not name."""
    return [
        name
        for name, row in rows.items()
        if name not in names and getattr(row, "provided_by", None) in names
    ]
