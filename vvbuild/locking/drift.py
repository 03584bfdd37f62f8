"""Other bytes under a locked name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vvbuild.errors import LockDriftError
from vvbuild.locking.read import Learned
from vvbuild.locking.rows import UPLOAD
from vvbuild.model.locked import LockedArtifact


@dataclass(frozen=True, slots=True)
class Drift:
    """What a lock has of an artifact, and what a server has now."""

    before: LockedArtifact
    now: Learned

    @property
    def told(self) -> str:
        """Both, for people."""
        return f"{told_row(self.before)}; the server has {told_now(self.now)}"


def drift_of(before: LockedArtifact | None, now: Learned) -> Drift | None:
    """The drift, if what both know differs: digest or size.

    Where the server tells no digest, an upload later than that of the locked file counts, too.
    """
    if before is None or before.sha256 is None:
        return None
    other = now.sha256 not in (None, before.sha256)
    resized = None not in (now.size, before.size) and now.size != before.size
    upload = before.provenance.get(UPLOAD)
    again = now.sha256 is None and None not in (now.upload, upload) and now.upload != upload
    return Drift(before, now) if other or resized or again else None


def drift_error(drifts: Sequence[Drift], name: str, command: str) -> LockDriftError:
    """The error of a lock that ``command`` must not write as it is."""
    names = [drift.before.name for drift in drifts]
    what = names[0] if len(names) == 1 else f"{len(names)} artifacts"
    return LockDriftError(
        f"The server has other bytes now for {what} than the lock of {name}.",
        context={drift.before.name: drift.told for drift in drifts},
        hint=drift_hint(names, command),
    )


def drift_hint(names: Sequence[str], command: str) -> str:
    """What to do about other bytes."""
    accept = " ".join(f"--accept-drift {name}" for name in names)
    return (
        "Find out who published it anew, and why. If the new bytes are right, "
        f"`{command} {accept}` takes them."
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


def _uploaded(when: str | None) -> str:
    return f", uploaded {when}" if when else ""
