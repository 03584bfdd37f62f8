"""``lock --check``: what a lock lacks, and what servers have now instead of what it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from vvbuild.errors import (
    ArchiveLayoutError,
    HostileArchiveError,
    IntegrityError,
    LockError,
    NotFoundOnServerError,
    VvbuildError,
)
from vvbuild.locking.ask import ask_each, is_hopeless, together
from vvbuild.locking.drift import DriftKind, drift_hint, drifts_of
from vvbuild.locking.learn import asset_names, learn
from vvbuild.locking.means import Means
from vvbuild.locking.read import Learned, Wants
from vvbuild.locking.rows import is_of, knows_terms, read_lock
from vvbuild.locking.subject import Subject
from vvbuild.manifest.lock import load_lock, pin_of
from vvbuild.model.locked import LockedArtifact, LockFile

Gap = Literal[
    "no-lock", "invalid", "stale", "not-locked", "not-pinned", "other-pin", "unlocked", "no-terms"
]
Drifted = Literal[DriftKind, "gone", "new-asset"]
Kind = Literal[Gap, Drifted, "not-asked"]
DRIFTS: tuple[str, ...] = get_args(Drifted)
# Gaps that leave a lock valid for whoever reads it.
_OPEN: tuple[Gap, ...] = ("unlocked", "no-terms")


@dataclass(frozen=True, slots=True)
class Problem:
    """A gap, a drift, or an artifact that could not be asked for.

    ``locked`` and ``now`` are what the lock and the server have; ``fix`` is what to do.
    """

    kind: Kind
    artifact: str | None
    message: str
    fix: str
    locked: LockedArtifact | None = None
    now: Learned | None = None


@dataclass(frozen=True, slots=True)
class LockCheck:
    """What is wrong with one lock.

    ``compared`` are the artifacts whose bytes a server told of; of ``not_compared`` it told
    nothing without a download.
    """

    name: str
    path: Path
    problems: tuple[Problem, ...]
    compared: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()


def check_locks(
    subjects: Sequence[Subject], means: Means, *, ask: bool = True, download: bool = False
) -> tuple[LockCheck, ...]:
    """Check locks against their manifests and, with ``ask``, against the servers.

    ``download`` reads every file as well, also those of which no server tells a digest, and looks
    into archives whose members are locked. Nothing is written.
    Raises the typed error of a server that could not be asked, if that is all that there is.
    """
    failures: dict[str, VvbuildError] = {}
    checks = []
    for subject in subjects:
        # What one lock showed to be out of reach is not asked again for the next.
        asked = ask and not any(map(is_hopeless, failures.values()))
        checks.append(_check(subject, means, failures, ask=asked, download=download))
    found = [problem for check in checks for problem in check.problems]
    if failures and all(problem.kind == "not-asked" for problem in found):
        raise together(failures, f"{len(failures)} artifacts could not be checked")
    return tuple(checks)


def _check(
    subject: Subject,
    means: Means,
    failures: dict[str, VvbuildError],
    *,
    ask: bool,
    download: bool,
) -> LockCheck:
    lock = read_lock(subject.path)
    gaps = list(_gaps(subject, lock, allow_local=means.session.allow_local))
    if lock is None or not ask:
        return LockCheck(subject.name, subject.path, tuple(gaps))
    pairs = [
        (pin, row)
        for row in lock.artifacts
        if row.sha256 is not None
        and (pin := pin_of(row.name, subject.pinned)) is not None
        and is_of(row, pin)
    ]
    answers = ask_each(
        pairs,
        lambda pair, inner: learn(pair[0], inner, _wants(pair[1], download=download)),
        means,
        task=f"check {subject.name}",
    )
    told = list(zip((row for _, row in pairs), answers, strict=True))
    problems = [*gaps, *_drifts(subject, told, failures), *_new_assets(subject, lock, means)]
    known = [(row.name, now) for row, now in told if isinstance(now, Learned)]
    return LockCheck(
        name=subject.name,
        path=subject.path,
        problems=tuple(problems),
        compared=tuple(name for name, now in known if now.sha256),
        not_compared=tuple(name for name, now in known if not now.sha256),
    )


def _wants(row: LockedArtifact, *, download: bool) -> Wants:
    return Wants(lambda _: download, members=download and bool(row.members), locked=row.sha256)


# Gaps


def _gaps(subject: Subject, lock: LockFile | None, *, allow_local: bool) -> Iterator[Problem]:
    fix = f"`{subject.command}` completes it."
    if lock is None and not subject.path.is_file():
        yield Problem("no-lock", None, f"There is no lock of {subject.name}.", fix)
        return
    found = list(_row_gaps(subject, lock, fix)) if lock is not None else []
    yield from found
    yield from _text_gaps(subject, lock, fix) if lock is not None else ()
    if all(problem.kind in _OPEN for problem in found):
        yield from _invalid(subject, allow_local=allow_local)


def _row_gaps(subject: Subject, lock: LockFile, fix: str) -> Iterator[Problem]:
    if lock.manifest_sha256 != subject.digest.hex:
        message = "The lock was made from another state of the manifest."
        yield Problem("stale", None, message, fix)
    names = [row.name for row in lock.artifacts]
    for pin in subject.pinned:
        if pin.name not in names and not any(map(pin.covers, names)):
            yield Problem("not-locked", pin.name, "It is pinned and not locked.", fix)
    for row in lock.artifacts:
        own = pin_of(row.name, subject.pinned)
        if own is None:
            yield Problem("not-pinned", row.name, "It is locked and not pinned.", fix, row)
        elif not is_of(row, own):
            message = f"Locked is {row.references[0]}, pinned is {own.references[0]}."
            yield Problem("other-pin", row.name, message, fix, row)
        elif row.unlocked is not None:
            yield Problem("unlocked", row.name, f"It is not locked: {row.unlocked}", fix, row)


def _text_gaps(subject: Subject, lock: LockFile, fix: str) -> Iterator[Problem]:
    """Locked rows without what must be accepted for them."""
    for row in lock.artifacts:
        pin = pin_of(row.name, subject.pinned)
        if pin is None or pin.terms is None or row.sha256 is None:
            continue
        if not knows_terms(row, pin):
            yield Problem("no-terms", row.name, "Nobody asked what must be accepted.", fix, row)
        elif row.terms is not None and not subject.has_text(row.terms):
            message = f"The text {row.terms[:12]} that must be accepted is missing, or was changed."
            yield Problem("no-terms", row.name, message, fix, row)


def _invalid(subject: Subject, *, allow_local: bool) -> Iterator[Problem]:
    """What a command that needs the lock would refuse it for."""
    try:
        load_lock(
            subject.path,
            expected=subject.digest,
            release=subject.name,
            pinned=subject.pinned,
            hint=f"`{subject.command}` writes it anew.",
            allow_local=allow_local,
        )
    except LockError as error:
        yield Problem("invalid", None, error.message, error.hint or "")


# Drift


def _drifts(
    subject: Subject,
    told: Sequence[tuple[LockedArtifact, Learned | VvbuildError | None]],
    failures: dict[str, VvbuildError],
) -> Iterator[Problem]:
    for row, now in told:
        if isinstance(now, Learned):
            for drift in drifts_of(row, now):
                fix = drift_hint([row.name], subject.command)
                yield Problem(drift.kind, row.name, _capital(drift.told), fix, row, now)
        elif isinstance(now, NotFoundOnServerError):
            yield Problem("gone", row.name, now.message, now.hint or "", row)
        elif isinstance(now, IntegrityError):
            yield Problem(_kind_of(now), row.name, now.message, now.hint or "", row)
        elif now is not None:
            failures[f"{subject.name}: {row.name}"] = now
            yield Problem("not-asked", row.name, now.message, now.hint or "", row)


def _kind_of(error: IntegrityError) -> DriftKind:
    """What a server has instead, by what is wrong with it."""
    if isinstance(error, HostileArchiveError | ArchiveLayoutError):
        return "other-members"
    return "other-terms" if isinstance(error, LockError) else "replaced"


def _new_assets(subject: Subject, lock: LockFile, means: Means) -> Iterator[Problem]:
    """Assets that a pinned glob fits, and that the lock does not name.

    What went wrong with asking is told at the rows of the same release.
    """
    names = {row.name for row in lock.artifacts}
    globs = [pin for pin in subject.pinned if pin.is_glob and pin.name not in names]
    for pin, there in zip(
        globs, ask_each(globs, asset_names, means, task=f"list {subject.name}"), strict=True
    ):
        for name in there if isinstance(there, tuple) else ():
            if name not in names:
                message = f"The release has {name} now, which {pin.name} takes in."
                fix = drift_hint([name], subject.command)
                yield Problem("new-asset", name, message, fix)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
