"""The rows of a lock: read as they are, made from what was learned, and written."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from vvbuild.errors import PermissionDeniedError, from_os_error
from vvbuild.locking.read import Learned
from vvbuild.manifest.pins import PinnedArtifact
from vvbuild.model.locked import LockedArtifact, LockFile
from vvbuild.runtime.files import write_atomically

# The fact of a row that is no fact of the bytes: when GitHub got them.
UPLOAD = "upload"


def read_lock(path: Path) -> LockFile | None:
    """A lock as it is; ``None`` where it is missing or cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=LockFile)
    except (OSError, msgspec.DecodeError):
        return None


def render_lock(lock: LockFile) -> bytes:
    """A lock as people diff it: one key a line, in the order of the manifest."""
    data = msgspec.to_builtins(lock)
    for row in data["artifacts"]:
        for key in ("sha256", "unlocked", "size", "max_size", "members", "terms"):
            if row[key] in (None, {}):
                del row[key]
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()


def write_lock(path: Path, lock: LockFile) -> None:
    """Put a lock in its place in one move; one that says the same already is left alone."""
    data = render_lock(lock)
    try:
        if path.is_file() and path.read_bytes() == data:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    except OSError as error:
        told = from_os_error(error, f"write {path}")
        if isinstance(told, PermissionDeniedError):
            told.hint = "`--manifests DIR` keeps manifests and locks in a directory of yours."
        raise told from error


def is_of(row: LockedArtifact, pin: PinnedArtifact) -> bool:
    """Whether a row is of that pin; where else the file can be had does not matter."""
    return (row.component, row.version, row.references[0]) == (
        pin.component,
        pin.version,
        str(pin.references[0]),
    )


def is_complete(row: LockedArtifact) -> bool:
    """Whether a row leaves nothing to ask."""
    return row.sha256 is not None and row.size is not None


def kept_row(row: LockedArtifact, pin: PinnedArtifact) -> LockedArtifact:
    """What is known of the bytes, with what the manifest says now of all else."""
    return msgspec.structs.replace(
        row,
        references=[str(reference) for reference in pin.references],
        targets=list(pin.targets),
        licence=pin.licence,
        max_size=_max_size(pin) if row.size is None else None,
    )


def locked_row(
    pin: PinnedArtifact, learned: Learned, before: LockedArtifact | None
) -> LockedArtifact:
    """The row of a pin by what a server said.

    What ``before`` knows of the same bytes stays: how they are unpacked, and who else told their
    digest.
    """
    same = before is not None and learned.sha256 in (None, before.sha256)
    known = before if same else None
    sha256 = learned.sha256 or (known.sha256 if known else None)
    assert sha256 is not None
    provenance = {
        "sha256": _confirmed(known, learned),
        "size": learned.how,
        **({UPLOAD: learned.upload} if learned.upload else {}),
    }
    return LockedArtifact(
        name=pin.name,
        component=pin.component,
        version=pin.version,
        references=[str(reference) for reference in pin.references],
        sha256=sha256,
        size=learned.size,
        targets=list(pin.targets),
        licence=pin.licence,
        members=known.members if known else {},
        terms=known.terms if known else None,
        provenance=provenance,
    )


def unlocked_row(pin: PinnedArtifact, reason: str) -> LockedArtifact:
    """The row of a pin that nobody could tell of."""
    return LockedArtifact(
        name=pin.name,
        component=pin.component,
        version=pin.version,
        references=[str(reference) for reference in pin.references],
        unlocked=reason,
        targets=list(pin.targets),
        max_size=_max_size(pin),
        licence=pin.licence,
    )


def _confirmed(known: LockedArtifact | None, learned: Learned) -> str:
    """Who told the digest: whoever it was before, and who says the same now."""
    told = known.provenance.get("sha256") if known else None
    if not told:
        return learned.how
    if learned.sha256 is None or learned.how in told:
        return told
    return f"{told}; {learned.how}"


def _max_size(pin: PinnedArtifact) -> int | None:
    return None if pin.max_size is None else int(pin.max_size)
