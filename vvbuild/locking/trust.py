"""``--allow-unlocked``: what nobody has locked, as the servers have it now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from vvbuild.errors import LockError
from vvbuild.locking.means import Means
from vvbuild.locking.run import Wish, complete, lock_file
from vvbuild.locking.subject import release_subject
from vvbuild.manifest.lock import lock_of
from vvbuild.manifest.release import LoadedRelease
from vvbuild.model.digest import Digest
from vvbuild.model.events import Note
from vvbuild.model.lock import Lock
from vvbuild.model.target import Target


@dataclass(frozen=True, slots=True)
class Trusted:
    """A lock without gaps for one target.

    ``taken`` are the names of the artifacts that no lock vouches for, each with who told its
    digest and size just now. ``texts`` are those that must be accepted and that lie beside no
    lock, by their digest.
    """

    lock: Lock
    taken: Mapping[str, Mapping[str, str]]
    texts: Mapping[str, str] = field(default_factory=dict)


def trust_unlocked(loaded: LoadedRelease, target: Target, means: Means) -> Trusted:
    """Fix, for this run only, the artifacts for ``target`` that the release's lock does not.

    What is locked stays locked. Raises what :func:`vvbuild.locking.run.lock` raises.
    """
    whole = release_subject(loaded)
    pins = tuple(pin for pin in whole.pinned if str(target) in pin.targets)
    done = complete(replace(whole, pinned=pins), means, Wish())
    taken = {
        row.name: row.provenance
        for row in done.rows
        if row.name not in done.before or done.before[row.name].sha256 is None
    }
    for name, told in taken.items():
        means.emit(Note(f"{name} is not locked; taken as it is now ({told['sha256']})", "warning"))
    try:
        lock = lock_of(lock_file(whole, done.rows), pins)
    except ValueError as error:
        raise LockError(f"What was learned of {loaded.name} makes no lock: {error}.") from error
    return Trusted(lock, taken, {Digest.of_bytes(it.encode()).hex: it for it in done.texts})
