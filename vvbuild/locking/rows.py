"""The rows of a lock: read as they are, made from what was learned, and written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from vvbuild.errors import PermissionDeniedError, from_os_error
from vvbuild.locking.read import Learned
from vvbuild.manifest.pins import PinnedArtifact
from vvbuild.model.digest import Digest
from vvbuild.model.locked import LockedArtifact, LockFile, Member
from vvbuild.runtime.files import write_atomically

# The fact of a row that is no fact of the bytes: when GitHub got them.
UPLOAD = "upload"
# How its members were listed, and where its text to accept comes from.
MEMBERS, TERMS = "members", "terms"


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
        for path, member in row.get("members", {}).items():
            row["members"][path] = {key: value for key, value in member.items() if value}
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()


def write_lock(path: Path, lock: LockFile) -> None:
    """Put a lock in its place in one move; one that says the same already is left alone."""
    _put(path, render_lock(lock))


def write_terms(directory: Path, texts: Iterable[str]) -> dict[str, Path]:
    """Put texts beside a lock, each in one move under its digest; returns where they are."""
    found = {}
    for text in texts:
        data = text.encode()
        digest = Digest.of_bytes(data).hex
        found[digest] = directory / f"{digest}.txt"
        _put(found[digest], data)
    return found


def _put(path: Path, data: bytes) -> None:
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


def is_complete(row: LockedArtifact, pin: PinnedArtifact, has_text: Callable[[str], bool]) -> bool:
    """Whether a row leaves nothing to ask; ``has_text`` tells whether a text is there."""
    if row.sha256 is None or row.size is None:
        return False
    if pin.terms is None:
        return True
    if not knows_terms(row, pin):
        return False
    return row.terms is None or has_text(row.terms)


def knows_terms(row: LockedArtifact, pin: PinnedArtifact) -> bool:
    """Whether somebody asked, where the manifest says, for what must be accepted."""
    told = row.provenance.get(TERMS, "")
    if pin.terms == "release-note":
        return told.endswith("GitHub release text")
    return pin.terms == "file" and told == "the file itself"


def known_members(row: LockedArtifact, pin: PinnedArtifact) -> dict[str, Member]:
    """What an archive holds, if it is still unpacked as when somebody looked."""
    way = _way(pin)
    return row.members if way is not None and row.provenance.get(MEMBERS) == way else {}


def _way(pin: PinnedArtifact) -> str | None:
    """How the members of an archive come to their paths."""
    if not pin.is_listed:
        return None
    return f"unpacked by `{pin.unpack}`" + (f" into {pin.into}" if pin.into else "")


def kept_row(row: LockedArtifact, pin: PinnedArtifact) -> LockedArtifact:
    """What is known of the bytes, with what the manifest says now of all else."""
    members, terms = known_members(row, pin), knows_terms(row, pin)
    dropped = ([] if members else [MEMBERS]) + ([] if terms else [TERMS])
    return msgspec.structs.replace(
        row,
        members=members,
        terms=row.terms if terms else None,
        provenance={key: how for key, how in row.provenance.items() if key not in dropped},
        references=[str(reference) for reference in pin.references],
        targets=list(pin.targets),
        licence=pin.licence,
        max_size=_max_size(pin) if row.size is None else None,
    )


def locked_row(
    pin: PinnedArtifact, learned: Learned, before: LockedArtifact | None
) -> LockedArtifact:
    """The row of a pin by what a server said.

    What ``before`` knows of the same bytes stays: what they hold, what must be accepted, and who
    else told their digest.
    """
    same = before is not None and learned.sha256 in (None, before.sha256)
    known = before if same else None
    sha256 = learned.sha256 or (known.sha256 if known else None)
    assert sha256 is not None
    members = dict(learned.members or (known_members(known, pin) if known else {}))
    terms, told = _terms(pin, learned, known)
    facts = {
        "sha256": _confirmed(known, learned),
        "size": learned.how,
        UPLOAD: learned.upload,
        MEMBERS: _way(pin) if members else None,
        TERMS: told,
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
        members=members,
        terms=terms,
        provenance={fact: how for fact, how in facts.items() if how},
    )


def _terms(
    pin: PinnedArtifact, learned: Learned, known: LockedArtifact | None
) -> tuple[str | None, str | None]:
    """The digest of what must be accepted, and where that was asked."""
    if learned.terms is not None:
        return learned.terms.sha256, learned.terms.how
    if known is not None and knows_terms(known, pin):
        return known.terms, known.provenance[TERMS]
    return None, None


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
