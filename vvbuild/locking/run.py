"""``lock``: fix the digest and size of every artifact that is not fixed yet."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from vvbuild.errors import UnknownNameError, VvbuildError
from vvbuild.locking.ask import ask_each, is_hopeless, together
from vvbuild.locking.drift import Drift, drift_error, drifts_of
from vvbuild.locking.learn import asset_names, learn
from vvbuild.locking.means import Means
from vvbuild.locking.read import Learned, Wants
from vvbuild.locking.rows import (
    is_complete,
    is_of,
    kept_row,
    locked_row,
    read_lock,
    render_lock,
    unlocked_row,
    write_lock,
    write_terms,
)
from vvbuild.locking.subject import Subject
from vvbuild.manifest.decode import no_such
from vvbuild.manifest.lock import terms_directory
from vvbuild.manifest.pins import PinnedArtifact
from vvbuild.model.locked import LockedArtifact, LockFile

__all__ = ["Change", "ChangeKind", "LockResult", "Wish", "lock", "render_lock"]

ChangeKind = Literal["added", "changed", "removed", "unchanged"]

_KEEP_GOING = "With --keep-going the rest is locked, and these stay `unlocked` with the reason."


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user wants beyond the usual.

    ``download`` reads every file, compares it with what is said of it, and lists what an archive
    for the core's downloader holds. ``keep_going`` writes
    what could be learned although something could not. ``accept_drift`` names artifacts, also by
    a glob, whose bytes may be others than those that are locked.
    """

    download: bool = False
    keep_going: bool = False
    accept_drift: tuple[str, ...] = ()

    def accepts(self, name: str) -> bool:
        """Whether other bytes are fine for that artifact."""
        return any(fnmatch.fnmatchcase(name, glob) for glob in self.accept_drift)


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one row of a lock."""

    name: str
    before: LockedArtifact | None
    after: LockedArtifact | None

    @property
    def kind(self) -> ChangeKind:
        """By what it says of the bytes."""
        if self.before is None:
            return "added"
        if self.after is None:
            return "removed"
        return "unchanged" if _said(self.before) == _said(self.after) else "changed"


@dataclass(frozen=True, slots=True)
class LockResult:
    """A lock that was written, and what became of each row: in its order, the removed ones last.

    ``texts`` are those that must be accepted, as far as they were asked for: digest → file.
    """

    path: Path
    changes: tuple[Change, ...]
    failures: Mapping[str, VvbuildError] = field(default_factory=dict)
    command: str = "vvbuild lock"
    texts: Mapping[str, Path] = field(default_factory=dict)

    @property
    def artifacts(self) -> tuple[LockedArtifact, ...]:
        """The rows that it has now."""
        return tuple(change.after for change in self.changes if change.after is not None)


@dataclass(frozen=True, slots=True)
class Completed:
    """The rows that a lock would have, those that it has now, and what could not be learned.

    ``texts`` are those that must be accepted, as far as they were asked for.
    """

    rows: list[LockedArtifact]
    before: Mapping[str, LockedArtifact]
    failures: Mapping[str, VvbuildError]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Task:
    """A pin with what the lock had of it."""

    pin: PinnedArtifact
    before: LockedArtifact | None


def lock(subject: Subject, means: Means, wish: Wish | None = None) -> LockResult:
    """Complete the lock of ``subject``.

    Rows that are complete, and whose pin is still the same, are kept and not asked for again. All
    that can be learned is learned before anything is judged: :class:`LockDriftError` names every
    artifact of which a server has other bytes now; another typed error names all that could not
    be learned. The lock is then as it was.
    """
    wish = wish or Wish()
    done = complete(subject, means, wish)
    # A lock never names a text that is not there yet.
    texts = write_terms(terms_directory(subject.destination), done.texts)
    write_lock(subject.destination, lock_file(subject, done.rows))
    changes = tuple(_changes(done.before, done.rows))
    return LockResult(subject.destination, changes, done.failures, subject.command, texts)


def lock_file(subject: Subject, rows: Sequence[LockedArtifact]) -> LockFile:
    """The lock of these rows."""
    return LockFile(
        schema="vvbuild.lock/1",
        release=subject.name,
        manifest_sha256=subject.digest.hex,
        artifacts=list(rows),
    )


def complete(subject: Subject, means: Means, wish: Wish) -> Completed:
    """All that :func:`lock` learns, and writes; raises as it does."""
    old = read_lock(subject.path)
    before = {row.name: row for row in old.artifacts} if old else {}
    _refuse_unknown(wish, subject, before)
    failures: dict[str, VvbuildError] = {}
    tasks = list(_tasks(subject, before, means, wish, failures))
    learned = _learn_all(tasks, subject, means, wish)
    failures.update(
        {name: answer for name, answer in learned.items() if isinstance(answer, VvbuildError)}
    )
    known = {name: answer for name, answer in learned.items() if isinstance(answer, Learned)}
    _refuse_drift(tasks, known, subject, wish)
    rows = [_row(task, known.get(task.pin.name), failures) for task in tasks]
    if failures and not wish.keep_going:
        what = f"{len(failures)} of {len(tasks)} artifacts could not be locked"
        raise together(failures, what, _KEEP_GOING)
    texts = dict.fromkeys(it.terms.text for it in known.values() if it.terms and it.terms.text)
    return Completed(rows, before, failures, tuple(texts))


def _refuse_unknown(wish: Wish, subject: Subject, before: Mapping[str, LockedArtifact]) -> None:
    names = [*before, *(pin.name for pin in subject.pinned)]
    for glob in wish.accept_drift:
        if not fnmatch.filter(names, glob) and not any(pin.covers(glob) for pin in subject.pinned):
            raise UnknownNameError(
                no_such("artifact", glob, names),
                hint="--accept-drift takes the name of an artifact, or a glob.",
            )


def _tasks(
    subject: Subject,
    before: Mapping[str, LockedArtifact],
    means: Means,
    wish: Wish,
    failures: dict[str, VvbuildError],
) -> Iterator[_Task]:
    """Every pin; a glob as the assets that it stands for."""
    globs = [pin for pin in subject.pinned if pin.is_glob]
    names = {pin.name: _kept_names(pin, before, subject, wish) for pin in globs}
    unknown = [pin for pin in globs if not names[pin.name]]
    answers = ask_each(
        unknown, asset_names, means, task=f"list {subject.name}", to_the_end=wish.keep_going
    )
    for pin, answer in zip(unknown, answers, strict=True):
        if isinstance(answer, VvbuildError):
            failures[pin.name] = answer
        else:
            names[pin.name] = answer or ()
    for pin in subject.pinned:
        if not pin.is_glob:
            yield _Task(pin, _same(pin, before))
        elif names[pin.name]:
            pins = [pin.named(name) for name in names[pin.name]]
            yield from (_Task(one, _same(one, before)) for one in pins)
        else:
            yield from _unexpanded(pin, before)


def _same(pin: PinnedArtifact, before: Mapping[str, LockedArtifact]) -> LockedArtifact | None:
    row = before.get(pin.name)
    return row if row is not None and is_of(row, pin) else None


def _kept_names(
    pin: PinnedArtifact, before: Mapping[str, LockedArtifact], subject: Subject, wish: Wish
) -> tuple[str, ...]:
    """The assets by the lock, if that leaves nothing to ask about any."""
    rows = [row for row in before.values() if row.name != pin.name and pin.covers(row.name)]
    known = all(
        is_of(row, pin.named(row.name)) and is_complete(row, pin, subject.has_text) for row in rows
    )
    meant = any(map(pin.covers, wish.accept_drift)) or any(wish.accepts(row.name) for row in rows)
    return tuple(row.name for row in rows) if known and not (meant or wish.download) else ()


def _unexpanded(pin: PinnedArtifact, before: Mapping[str, LockedArtifact]) -> Iterator[_Task]:
    """A glob whose assets nobody tells: what the lock has of them, else the glob itself."""
    rows = [row for row in before.values() if row.name != pin.name and pin.covers(row.name)]
    kept = [row for row in rows if is_of(row, pin.named(row.name))]
    yield from (_Task(pin.named(row.name), row) for row in kept)
    if not kept:
        yield _Task(pin, _same(pin, before))


def _learn_all(
    tasks: Sequence[_Task], subject: Subject, means: Means, wish: Wish
) -> dict[str, Learned | VvbuildError | None]:
    """What was learned of each file that leaves something to ask, by its name."""
    open_tasks = [task for task in tasks if not task.pin.is_glob and _is_open(task, subject, wish)]
    answers = ask_each(
        open_tasks,
        lambda task, inner: _learn(task, inner, wish),
        means,
        task=f"lock {subject.name}",
        to_the_end=wish.keep_going,
    )
    return dict(zip((task.pin.name for task in open_tasks), answers, strict=True))


def _is_open(task: _Task, subject: Subject, wish: Wish) -> bool:
    complete = task.before is not None and is_complete(task.before, task.pin, subject.has_text)
    return not complete or wish.download or wish.accepts(task.pin.name)


def _learn(task: _Task, means: Means, wish: Wish) -> Learned:
    known = task.before.sha256 if task.before and not wish.accepts(task.pin.name) else None

    def wants_bytes(said: Learned) -> bool:
        return wish.download or said.size is None or (said.sha256 or known) is None

    return learn(task.pin, means, Wants(wants_bytes, members=wish.download, locked=known))


def _refuse_drift(
    tasks: Sequence[_Task], known: Mapping[str, Learned], subject: Subject, wish: Wish
) -> None:
    """Raise :class:`LockDriftError` for all that nobody accepts."""
    found: list[Drift] = []
    for task in tasks:
        now = known.get(task.pin.name)
        if now is not None and not wish.accepts(task.pin.name):
            found += drifts_of(task.before, now)
    if found:
        raise drift_error(found, subject.name, subject.command)


def _row(
    task: _Task, learned: Learned | None, failures: Mapping[str, VvbuildError]
) -> LockedArtifact:
    if learned is not None:
        return locked_row(task.pin, learned, task.before)
    if task.before is not None and task.before.sha256 is not None:
        return kept_row(task.before, task.pin)
    failure, before = failures.get(task.pin.name), task.before
    if before is not None and before.unlocked and (failure is None or is_hopeless(failure)):
        # That nobody answered today is no news about the file.
        return unlocked_row(task.pin, before.unlocked)
    return unlocked_row(task.pin, failure.message if failure else "it was not asked for")


def _changes(
    before: Mapping[str, LockedArtifact], rows: Sequence[LockedArtifact]
) -> Iterator[Change]:
    for row in rows:
        yield Change(row.name, before.get(row.name), row)
    names = {row.name for row in rows}
    for name, gone in before.items():
        if name not in names:
            yield Change(name, gone, None)


def _said(row: LockedArtifact) -> tuple[object, ...]:
    return row.version, row.sha256, row.size, row.unlocked, row.members, row.terms
