"""``lock``: ask the indexes for digests and sizes, and read the file where they tell none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import msgspec

from vvbuild.errors import DigestMismatchError, SizeMismatchError
from vvbuild.fetch.attempts import AttemptError, AttemptLog
from vvbuild.fetch.failures import refuse_status
from vvbuild.fetch.session import Session
from vvbuild.fetch.sources import Location, locate
from vvbuild.manifest.lock import lock_path
from vvbuild.manifest.pins import PinnedArtifact
from vvbuild.manifest.release import LoadedRelease
from vvbuild.manifest.tools import LOCK_NAME, pinned_tools, tools_digest
from vvbuild.model.digest import Digest
from vvbuild.model.events import Emit, Progress
from vvbuild.model.release import LockedArtifact, LockFile
from vvbuild.model.size import ByteSize
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import write_atomically

# A file whose size nobody tells is read up to here when it is locked.
_DEFAULT_LIMIT = ByteSize(16 << 30)
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class LockResult:
    """A lock that was written, and how it differs from the one before."""

    path: Path
    artifacts: tuple[LockedArtifact, ...]
    changed: tuple[str, ...]


def lock_release(
    loaded: LoadedRelease, *, session: Session, emit: Emit, cancel: Cancel
) -> LockResult:
    """Write the lock of a packaged release."""
    return _lock(loaded.name, loaded.pins_digest, loaded.artifacts, session, emit, cancel)


def lock_tools(*, session: Session, emit: Emit, cancel: Cancel) -> LockResult:
    """Write the lock of the tools."""
    return _lock(LOCK_NAME, tools_digest(), pinned_tools(), session, emit, cancel)


def _lock(
    name: str,
    pins: Digest,
    pinned: Sequence[PinnedArtifact],
    session: Session,
    emit: Emit,
    cancel: Cancel,
) -> LockResult:
    done = 0

    def work(item: PinnedArtifact) -> LockedArtifact:
        nonlocal done
        row = _lock_artifact(item, session, emit, cancel)
        done += 1
        emit(Progress(f"lock {name}", done, len(pinned), "artifacts"))
        return row

    pool = ThreadPoolExecutor(4, thread_name_prefix="lock")
    try:
        rows = tuple(pool.map(work, pinned))
    except BaseException:
        # Nobody waits for the others' downloads after Ctrl-C or a failure.
        cancel.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    path = lock_path(name)
    before = _rows_before(path)
    write_atomically(path, render_lock(LockFile(
        schema="vvbuild.lock/1", release=name, manifest_sha256=pins.hex, artifacts=list(rows)
    )))  # fmt: skip
    changed = tuple(row.name for row in rows if before.get(row.name) != row.sha256)
    return LockResult(path, rows, changed)


def render_lock(lock: LockFile) -> bytes:
    """A lock as people diff it: one key a line, in the order of the manifest."""
    data = msgspec.to_builtins(lock)
    for row in data["artifacts"]:
        for key in ("sha256", "unlocked", "size", "max_size", "members", "terms"):
            if row[key] in (None, {}):
                del row[key]
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()


def _lock_artifact(
    item: PinnedArtifact, session: Session, emit: Emit, cancel: Cancel
) -> LockedArtifact:
    location = locate(item.references[0], session)
    sha256, size = location.sha256_hint, location.size_hint
    source = f"index of {item.references[0].source}"
    if sha256 is None or size is None:
        sha256, size = _read(item, location, session, emit, cancel)
        source = "downloaded and hashed"
    return LockedArtifact(
        name=item.name,
        component=item.component,
        version=item.version,
        references=[str(reference) for reference in item.references],
        sha256=sha256.hex,
        size=int(size),
        targets=list(item.targets),
        licence=item.licence,
        provenance={"sha256": source, "size": source},
    )


def _read(
    item: PinnedArtifact, location: Location, session: Session, emit: Emit, cancel: Cancel
) -> tuple[Digest, ByteSize]:
    """Download a file only to learn its digest and size; nothing is kept."""
    limit, source = item.max_size or _DEFAULT_LIMIT, str(item.references[0])

    def read() -> tuple[Digest, ByteSize]:
        digest, size = hashlib.sha256(), 0
        pace = session.pace(session.patience.clock() + session.timeouts.file)
        with session.open(location.url, cancel=cancel) as response:
            refuse_status(response)
            for chunk in response.iter_raw(_CHUNK):
                pace.tick(len(chunk))
                digest.update(chunk)
                size += len(chunk)
                if size > limit:
                    raise SizeMismatchError(f"{item.name} is larger than {limit}.")
                emit(Progress(item.name, size, None))
        return Digest(digest.hexdigest()), ByteSize(size)

    log = AttemptLog(source)
    try:
        found = session.patience.persist(read, source=source, log=log, cancel=cancel, emit=emit)
    except AttemptError:
        raise log.error() from None
    if location.sha256_hint not in (None, found[0]):
        raise DigestMismatchError(
            f"{item.name} is not what its index says.",
            context={"index says": location.sha256_hint, "file has": found[0]},
            hint="Do not lock it. Find out who changed the file.",
        )
    return found


def _rows_before(path: Path) -> dict[str, str | None]:
    try:
        return {row.name: row.sha256 for row in _decode(path).artifacts}
    except (OSError, msgspec.DecodeError):
        return {}


def _decode(path: Path) -> LockFile:
    return msgspec.json.decode(path.read_bytes(), type=LockFile)
