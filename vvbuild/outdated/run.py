"""``outdated``: what newer pins a release could have, and whether they would fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from vvbuild.check.run import check
from vvbuild.errors import NetworkError, UnknownNameError, UsageError, VvbuildError
from vvbuild.fetch.published import Published, published_versions
from vvbuild.fetch.session import Session
from vvbuild.manifest.compat import compat_tables
from vvbuild.manifest.decode import no_such
from vvbuild.manifest.release import LoadedRelease
from vvbuild.model.events import Emit, Progress
from vvbuild.model.finding import Finding
from vvbuild.model.policy import Policy
from vvbuild.model.reference import Source
from vvbuild.model.release import COMPONENTS, Component, Release
from vvbuild.outdated.checklist import Group, checklist
from vvbuild.outdated.choose import Choice, Obstacle, Terms, candidates, choose, withdrawn
from vvbuild.outdated.edit import edit_pins, edited_release, read_text, write_text
from vvbuild.outdated.follow import Follow, Place, follow
from vvbuild.outdated.heirs import heirs
from vvbuild.outdated.order import rank
from vvbuild.runtime.cancel import Cancel

Status = Literal["current", "outdated", "held-back", "provided", "not-followed", "unknown"]
Listed = Mapping[Place, "tuple[Published, ...] | VvbuildError"]


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of one component.

    ``allowed`` is the newest version that the policy lets it move to, the pin itself where there
    is none; ``newest`` the newest that is published. ``reason`` says why the newest is not
    proposed, or why nobody was asked. ``published_at`` belongs to ``allowed`` where it moves,
    else to ``newest``.
    """

    component: str
    pinned: str
    status: Status
    allowed: str | None = None
    newest: str | None = None
    obstacle: Obstacle | None = None
    reason: str = ""
    published_at: datetime | None = None
    source: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def proposed(self) -> str | None:
        """The pin that would be written, ``None`` where it stays."""
        return self.allowed if self.allowed != self.pinned else None


@dataclass(frozen=True, slots=True)
class Edit:
    """The release's own file before and after."""

    release: LoadedRelease
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class OutdatedResult:
    """What could move, and what would follow from it.

    ``findings`` are those of the release with the new pins, ``new`` the ones among them that it
    does not have now. ``lock_stale`` is whether the new pins need another lock; ``heirs`` are
    releases that inherit from the file and would move along.
    """

    release: LoadedRelease
    rows: tuple[Row, ...]
    edit: Edit | None = None
    groups: tuple[Group, ...] = ()
    findings: tuple[Finding, ...] = ()
    new: tuple[Finding, ...] = ()
    lock_stale: bool = False
    heirs: tuple[str, ...] = ()
    written: bool = False

    @property
    def nobody_answered(self) -> bool:
        """Whether somebody was to be asked and not one source answered."""
        asked = [row.status == "unknown" for row in self.rows if row.source]
        return bool(asked) and all(asked)


def outdated(
    loaded: LoadedRelease,
    *,
    policy: Policy,
    session: Session,
    now: datetime,
    emit: Emit,
    cancel: Cancel,
    components: Sequence[str] = (),
    min_age: timedelta | None = None,
    prereleases: bool = False,
    write: bool = False,
) -> OutdatedResult:
    """Look up newer versions of a release's components, by default of all, and propose pins.

    ``now`` is the moment that ages are counted from. With ``write`` the pins are written into
    the release's own file, once the result has been loaded and checked as a manifest. A source
    that cannot be asked costs its components only.

    Raises :class:`~vvbuild.errors.UnknownNameError` for a component that is none, and the
    errors of :mod:`vvbuild.outdated.edit`.
    """
    wanted = _wanted(loaded.row, components)
    before = read_text(loaded.path)
    follows = {
        name: follow(loaded.row, name, policy.of(name))
        for name in wanted
        if _component(loaded.row, name).provided_by is None
    }
    listed = _ask(follows.values(), session, emit, cancel)
    rows: dict[str, Row] = {}
    for name, each in follows.items():
        terms = Terms.of(
            policy.default, policy.of(name), now, min_age=min_age, prereleases=prereleases
        )
        rows[name] = _row(name, _component(loaded.row, name), each, listed, terms)
    for name in wanted:
        if name not in rows:
            rows[name] = _provided_row(name, loaded.row, rows)
    ordered = tuple(rows[name] for name in wanted)
    result = OutdatedResult(loaded, ordered)
    pins = {row.component: row.proposed for row in ordered if row.proposed is not None}
    return _with_edit(result, pins, before, policy, now, write=write) if pins else result


def _wanted(release: Release, components: Sequence[str]) -> tuple[str, ...]:
    """The components to look at, in the usual order, with whoever provides them."""
    known = [name for name in COMPONENTS if name in ("engine", "python", *release.components)]
    wanted = set(components) or set(known)
    for name in components:
        if name not in COMPONENTS:
            raise UnknownNameError(no_such("component", name, COMPONENTS))
        if name not in known:
            raise UsageError(
                f"{release.name} has no component {name!r}.",
                context={"components": ", ".join(known)},
            )
        wanted.add(_component(release, name).provided_by or name)
    return tuple(name for name in known if name in wanted)


def _component(release: Release, name: str) -> Component:
    """The pin of a component; engine and Python have tables of their own."""
    rows = {str(row): component for row, component in release.components.items()}
    pin = {"engine": release.engine.version, "python": release.python.requires}.get(name)
    if pin is not None:
        return Component(version=pin, source="package")
    return rows[name]


def _ask(follows: Iterable[Follow], session: Session, emit: Emit, cancel: Cancel) -> Listed:
    """Each project once, several side by side; a failure stands in its place."""
    places = list(dict.fromkeys(place for each in follows for place in each.places))
    projects = list(dict.fromkeys((place.source, place.project) for place in places))
    done = 0

    def ask(project: tuple[Source, str]) -> tuple[Published, ...] | VvbuildError:
        nonlocal done
        try:
            return published_versions(*project, session, cancel=cancel, emit=emit)
        except NetworkError as error:
            return error
        finally:
            done += 1
            emit(Progress("look up versions", done, len(projects), "projects"))

    pool = ThreadPoolExecutor(4, thread_name_prefix="outdated")
    try:
        answers = dict(zip(projects, pool.map(ask, projects), strict=True))
    except BaseException:
        # Nobody waits for the other answers after Ctrl-C or a fault.
        cancel.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return {place: answers[place.source, place.project] for place in places}


def _row(name: str, component: Component, follow: Follow, listed: Listed, terms: Terms) -> Row:
    row = Row(
        name,
        component.version,
        "current",
        allowed=component.version,
        source=tuple(str(place) for place in follow.places),
        notes=_notes_on_others(component),
    )
    if not follow.needs:
        return replace(row, status="not-followed", allowed=None, reason=follow.why_not)
    answers: dict[Place, tuple[Published, ...]] = {}
    for place in follow.places:
        answer = listed[place]
        if isinstance(answer, VvbuildError):
            return replace(row, status="unknown", allowed=None, reason=answer.message)
        if not answer:
            reason = f"{place} lists no versions."
            return replace(row, status="not-followed", allowed=None, reason=reason)
        answers[place] = answer
    pinned = rank(component.version, follow.scheme)
    if pinned is None:
        reason = f"{component.version} is no version that could be compared."
        return replace(row, status="not-followed", allowed=None, source=(), reason=reason)
    return _judged(
        row,
        choose(pinned, candidates(follow, answers), terms),
        withdrawn(component.version, follow, answers),
    )


def _judged(row: Row, choice: Choice, complaint: str | None) -> Row:
    notes = (*row.notes, *((complaint,) if complaint else ()), *choice.notes)
    if choice.newest is None:
        return replace(row, newest=row.pinned, notes=notes)
    told = choice.allowed or choice.newest
    return replace(
        row,
        status="outdated" if choice.allowed else "held-back",
        allowed=choice.allowed.version if choice.allowed else row.pinned,
        newest=choice.newest.version,
        obstacle=choice.obstacle,
        reason=choice.why,
        published_at=told.at,
        notes=notes,
    )


def _notes_on_others(component: Component) -> tuple[str, ...]:
    """The pins beside the one that moves."""
    notes = []
    if component.versions:
        pins = ", ".join(f"{target} {version}" for target, version in component.versions.items())
        notes.append(f"Pins of single targets stay as they are: {pins}.")
    if component.also:
        notes.append(f"Further versions stay as they are: {', '.join(component.also)}.")
    return tuple(notes)


def _provided_row(name: str, release: Release, rows: Mapping[str, Row]) -> Row:
    """A component that moves with whoever provides it, where a table knows what that packs."""
    component = _component(release, name)
    provider = component.provided_by or ""
    row = Row(
        name,
        component.version,
        "provided",
        allowed=component.version,
        reason=f"Comes with {provider}.",
        notes=_notes_on_others(component),
    )
    version = rows[provider].proposed if provider in rows else None
    if version is None:
        return row
    packed = compat_tables().libraries.row(version) if provider == "additional-libraries" else None
    if packed is None:
        note = f"Nobody told what {provider} {version} holds: look it up and pin it."
        return replace(row, notes=(*row.notes, note))
    return replace(
        row,
        allowed={str(each): pin for each, pin in packed.packs().items()}.get(name, row.pinned),
        reason=f"As {provider} {version} packs it.",
    )


def _with_edit(
    result: OutdatedResult,
    pins: Mapping[str, str],
    before: str,
    policy: Policy,
    now: datetime,
    *,
    write: bool,
) -> OutdatedResult:
    """Make the edit in memory, judge the release that it gives, and only then write it."""
    loaded = result.release
    after = edit_pins(loaded.document, before, pins)
    moved = edited_release(loaded, after)
    found, known = (check([each], today=now.date()).findings for each in (moved, loaded))
    seen = {_identity(finding) for finding in known}
    moving = heirs(loaded, pins)
    if write:
        write_text(loaded.path, before, after)
    return replace(
        result,
        edit=Edit(moved, before, after),
        groups=checklist(loaded.row, pins, policy),
        findings=found,
        new=tuple(finding for finding in found if _identity(finding) not in seen),
        lock_stale=moved.pins_digest != loaded.pins_digest,
        heirs=moving,
        written=write,
    )


def _identity(finding: Finding) -> tuple[str, str | None, str, bool]:
    """A finding whose message only names other versions is the same finding."""
    return finding.rule, finding.target, finding.severity, finding.waived is not None
