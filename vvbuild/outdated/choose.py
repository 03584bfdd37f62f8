"""How far a pin may move: versions held against the policy. No I/O, and no clock of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from vvbuild.fetch.published import Published
from vvbuild.model.policy import ComponentPolicy, DefaultPolicy, Held, Series, parse_age
from vvbuild.model.version import within
from vvbuild.outdated.follow import Follow, Need, Place
from vvbuild.outdated.order import Ranked, rank

Obstacle = Literal["pre-release", "series", "held", "files", "age"]
# More targets than that are counted.
_NAMED = 3
_SERIES_WORDS = {"patch": "{0}.{1}", "minor": "{0}"}


@dataclass(frozen=True, slots=True)
class Terms:
    """The policy of one component, with what the command line says about this run."""

    series: Series
    prereleases: bool
    min_age: timedelta
    held: Held | None
    now: datetime

    @classmethod
    def of(
        cls,
        default: DefaultPolicy,
        row: ComponentPolicy,
        now: datetime,
        *,
        min_age: timedelta | None = None,
        prereleases: bool = False,
    ) -> Terms:
        """The row, else the default; the command line's age and pre-releases win over both."""
        allowed = default.prereleases if row.prereleases is None else row.prereleases
        written = parse_age(row.min_age or default.min_age)
        return cls(
            row.series or default.series,
            prereleases or allowed,
            written if min_age is None else min_age,
            row.held,
            now,
        )

    @property
    def expired(self) -> Held | None:
        """A hold whose last day is over."""
        held = self.held
        return held if held and held.until and held.until < self.now.date() else None

    @property
    def holds(self) -> Held | None:
        """A hold that counts."""
        return None if self.expired else self.held


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version that is published. ``lacks`` is what the manifest needs and it has not."""

    rank: Ranked
    at: datetime | None
    prerelease: bool
    lacks: str = ""

    @property
    def version(self) -> str:
        """As the manifest writes it."""
        return self.rank.text


@dataclass(frozen=True, slots=True)
class Choice:
    """The newest version that the policy allows, the newest of all, and what lies between.

    ``obstacle`` and ``why`` are about ``newest`` and empty where it is the allowed one;
    ``notes`` are what else should be known.
    """

    allowed: Candidate | None
    newest: Candidate | None
    obstacle: Obstacle | None = None
    why: str = ""
    notes: tuple[str, ...] = ()


def candidates(
    follow: Follow, listed: Mapping[Place, Sequence[Published]]
) -> tuple[Candidate, ...]:
    """Every version that any project of a component has published and not withdrawn."""
    tables = {place: _by_version(place, listed[place], follow) for place in follow.places}
    found: dict[str, Ranked] = {}
    for table in tables.values():
        for version, (ranked, row) in table.items():
            if row.withdrawn is None:
                found.setdefault(version, ranked)
    return tuple(_candidate(ranked, follow, tables) for ranked in found.values())


def withdrawn(
    version: str, follow: Follow, listed: Mapping[Place, Sequence[Published]]
) -> str | None:
    """What is wrong with a pin at its source: withdrawn there, or not there at all."""
    for place in follow.places:
        rows = [row for row in listed[place] if place.version(row.version) == version]
        if not rows:
            return f"{place} has no {version} (any more)."
        if rows[0].withdrawn is not None:
            return f"{version} is {rows[0].withdrawn} at {place}."
    return None


def choose(pinned: Ranked, found: Sequence[Candidate], terms: Terms) -> Choice:
    """The newest version above ``pinned`` that the policy allows.

    Pre-releases count only where they may be proposed, so that a preview never hides the
    newest release.
    """
    wanted = [each for each in found if terms.prereleases or not each.prerelease]
    newer = sorted(
        (each for each in wanted if each.rank.newer_than(pinned)),
        key=lambda each: each.rank.key,
        reverse=True,
    )
    notes = []
    if (held := terms.expired) is not None:
        notes.append(f"Was held until {held.until} ({held.reason}); that is over.")
    if not newer:
        return Choice(None, None, notes=tuple(notes))
    refused = [_refusal(each, pinned, terms) for each in newer]
    place = next((index for index, each in enumerate(refused) if each is None), None)
    allowed = None if place is None else newer[place]
    if allowed is not None and allowed.at is None and terms.min_age:
        notes.append(f"{allowed.version} has no date at its source: its age is not known.")
    obstacle, why = refused[0] or (None, "")
    return Choice(allowed, newer[0], obstacle, why, tuple(notes))


def _refusal(candidate: Candidate, pinned: Ranked, terms: Terms) -> tuple[Obstacle, str] | None:
    """Why a version is not proposed; what waiting does not cure comes first."""
    version = candidate.version
    held = terms.holds
    if held is not None and not within(version, held.version):
        until = f" until {held.until}" if held.until else ""
        return "held", f"Held at {held.version}{until}: {held.reason}"
    if not candidate.rank.within(terms.series, pinned):
        first, second = (*pinned.numbers, 0)[:2]
        kept = _SERIES_WORDS[terms.series].format(first, second)
        return "series", f"The policy keeps it within {kept}."
    if candidate.lacks:
        return "files", candidate.lacks
    if candidate.at is not None and terms.now - candidate.at < terms.min_age:
        return "age", f"Too young, until {_end(candidate.at, terms.min_age)}."
    return None


def _end(at: datetime, age: timedelta) -> str:
    try:
        return (at + age).date().isoformat()
    except OverflowError:
        return "the end of time"


def _by_version(
    place: Place, rows: Sequence[Published], follow: Follow
) -> dict[str, tuple[Ranked, Published]]:
    table: dict[str, tuple[Ranked, Published]] = {}
    for row in rows:
        version = place.version(row.version)
        ranked = rank(version, follow.scheme) if version else None
        if ranked is not None:
            table.setdefault(ranked.text, (ranked, row))
    return table


def _candidate(
    ranked: Ranked, follow: Follow, tables: Mapping[Place, dict[str, tuple[Ranked, Published]]]
) -> Candidate:
    """One version with all that its projects say; it is as young as its youngest file."""
    rows = {
        place: table[ranked.text][1]
        for place, table in tables.items()
        if ranked.text in table and table[ranked.text][1].withdrawn is None
    }
    lacks = [text for need in follow.needs if (text := _lack(need, ranked.text, rows))]
    times = [
        time
        for need in follow.needs
        if need.place in rows
        for time in (rows[need.place].at, *_file_times(need, ranked.text, rows[need.place]))
        if time is not None
    ]
    prerelease = ranked.prerelease or any(row.prerelease for row in rows.values())
    more = f" And {len(lacks) - 1} more." if len(lacks) > 1 else ""
    return Candidate(
        ranked, max(times, default=None), prerelease, f"{lacks[0]}{more}" if lacks else ""
    )


def _lack(need: Need, version: str, rows: Mapping[Place, Published]) -> str:
    whose = f" for {_words(need.targets)}" if need.targets else ""
    row = rows.get(need.place)
    if row is None:
        return f"{need.place} has no {version}{whose}."
    if need.file and not need.among(row.files, version):
        return f"{need.place} has no {need.name(version)}{whose}."
    return ""


def _words(targets: tuple[str, ...]) -> str:
    return ", ".join(targets) if len(targets) <= _NAMED else f"{len(targets)} targets"


def _file_times(need: Need, version: str, row: Published) -> list[datetime | None]:
    return [row.files[name] for name in need.among(row.files, version)]
