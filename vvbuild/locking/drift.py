"""Other bytes under a locked name, other members in the same bytes, or another text to accept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vvbuild.errors import LockDriftError
from vvbuild.locking.read import Learned
from vvbuild.locking.rows import MEMBERS, TERMS, UPLOAD
from vvbuild.model.locked import LockedArtifact, Member

DriftKind = Literal["replaced", "other-members", "other-terms"]
_SHOWN = 8
_WHAT: dict[DriftKind, str] = {
    "replaced": "other bytes",
    "other-members": "other members",
    "other-terms": "other terms",
}


@dataclass(frozen=True, slots=True)
class Drift:
    """What a lock has of an artifact, and what a server has now."""

    before: LockedArtifact
    now: Learned
    kind: DriftKind = "replaced"

    @property
    def told(self) -> str:
        """Both, for people."""
        if self.kind == "other-members":
            return _told_members(self.before.members, self.now.members or {})
        if self.kind == "other-terms":
            now = self.now.terms.sha256 if self.now.terms else None
            return (
                f"the locked text that must be accepted is {self.before.terms or 'none'}; "
                f"the server has {now or 'none'}"
            )
        return f"{told_row(self.before)}; the server has {told_now(self.now)}"


def drifts_of(before: LockedArtifact | None, now: Learned) -> Iterator[Drift]:
    """What differs of all that both know: the bytes, else what they hold; and what to accept.

    Other bytes are another digest or size. Where the server tells no digest, an upload later than
    that of the locked file counts, too.
    """
    if before is None or before.sha256 is None:
        return
    listed = now.members is not None and MEMBERS in before.provenance
    if _is_replaced(before, now):
        yield Drift(before, now)
    elif listed and now.members != before.members:
        yield Drift(before, now, "other-members")
    if now.terms is not None and TERMS in before.provenance and now.terms.sha256 != before.terms:
        yield Drift(before, now, "other-terms")


def _is_replaced(before: LockedArtifact, now: Learned) -> bool:
    other = now.sha256 not in (None, before.sha256)
    resized = None not in (now.size, before.size) and now.size != before.size
    upload = before.provenance.get(UPLOAD)
    again = now.sha256 is None and None not in (now.upload, upload) and now.upload != upload
    return other or resized or again


def drift_error(drifts: Sequence[Drift], name: str, command: str) -> LockDriftError:
    """The error of a lock that ``command`` must not write as it is."""
    context: dict[str, object] = {}
    for drift in drifts:
        told = context.get(drift.before.name)
        context[drift.before.name] = f"{told}; {drift.told}" if told else drift.told
    names = list(context)
    subject = names[0] if len(names) == 1 else f"{len(names)} artifacts"
    what = " and ".join(dict.fromkeys(_WHAT[drift.kind] for drift in drifts))
    return LockDriftError(
        f"The server has {what} now for {subject} than the lock of {name}.",
        context=context,
        hint=drift_hint(names, command),
    )


def drift_hint(names: Sequence[str], command: str) -> str:
    """What to do about it."""
    accept = " ".join(f"--accept-drift {name}" for name in names)
    return (
        "Find out who published it anew, and why. If what is there now is right, "
        f"`{command} {accept}` takes it."
    )


def told_row(row: LockedArtifact) -> str:
    """What a lock knows of a file, for people."""
    size = "of unknown size" if row.size is None else f"{row.size} bytes"
    return f"locked is {row.sha256}, {size}{_uploaded(row.provenance.get(UPLOAD))}"


def told_now(now: Learned) -> str:
    """What a server has, for people."""
    digest = now.sha256 or "a file whose digest it does not tell"
    size = "of unknown size" if now.size is None else f"{now.size} bytes"
    return f"{digest}, {size}{_uploaded(now.upload)}"


def _told_members(before: Mapping[str, Member], now: Mapping[str, Member]) -> str:
    parts = {
        "changed": [path for path in before if path in now and before[path] != now[path]],
        "not locked": [path for path in now if path not in before],
        "gone": [path for path in before if path not in now],
    }
    return "; ".join(f"{word}: {_some(paths)}" for word, paths in parts.items() if paths)


def _some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[:_SHOWN]) + more


def _uploaded(when: str | None) -> str:
    return f", uploaded {when}" if when else ""
