"""``mirror export`` and ``mirror import``: nothing is believed on either side."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vvbuild.errors import (
    DigestMismatchError,
    HostToolMissingError,
    MirrorError,
    OutputNotOursError,
    SizeMismatchError,
    StrangerError,
    from_os_error,
)
from vvbuild.fetch.parallel import fetch_all
from vvbuild.fetch.session import Session
from vvbuild.fetch.store import Store
from vvbuild.manifest.lock import load_release_lock, require_locked
from vvbuild.manifest.release import LoadedRelease
from vvbuild.manifest.targets import host_platform
from vvbuild.manifest.tools import find_tool
from vvbuild.mirror.index import (
    FILE_NAME,
    MirrorFile,
    MirrorRelease,
    empty_index,
    joined,
    place_of,
    read_index,
    write_index,
)
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.events import Emit, Progress
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Target
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import atomic_writer, hash_file

_CHUNK = 1 << 20
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Carried:
    """What a mirror holds now, or what came out of it; ``new`` were not there before."""

    directory: Path
    files: tuple[MirrorFile, ...]
    new: int

    @property
    def size(self) -> ByteSize:
        """Bytes of all files."""
        return ByteSize(sum(file.size for file in self.files))


def export_release(
    loaded: LoadedRelease,
    targets: Sequence[Target],
    directory: Path,
    *,
    store: Store,
    offline: bool,
    emit: Emit,
    cancel: Cancel,
) -> Carried:
    """Add what bundles of a release are made from, and the tools for this host, to a mirror.

    A directory that holds anything but a mirror is refused. Interrupted, the same call carries
    on: the index names a file only after it is there. Raises typed errors, among them
    :class:`~vvbuild.errors.LockError` for a release with unlocked artifacts.
    """
    artifacts = tuple(_artifacts(loaded, targets))
    _claim(directory)
    store.prepare()
    with Session(offline=offline, cancel=cancel) as session:
        paths = fetch_all(artifacts, store, session=session, emit=emit, cancel=cancel)
    files, new = [], 0
    for number, artifact in enumerate(_once(artifacts), 1):
        source = store.verified_file(artifact.sha256)
        final = place_of(directory, artifact.sha256)
        if not (final.is_file() and hash_file(final, cancel) == artifact.sha256):
            _copy(source, final, artifact.sha256, artifact.name, cancel)
            new += 1
        size = source.stat().st_size
        files.append(MirrorFile(name=artifact.name, sha256=artifact.sha256.hex, size=size))
        emit(Progress("export", number, len(paths), "files"))
    release = MirrorRelease(
        name=loaded.name,
        pins_sha256=loaded.pins_digest.hex,
        targets=[str(target) for target in targets],
    )
    index = joined(read_index(directory), [release], files)
    write_index(directory, index)
    return Carried(directory, tuple(index.files), new)


def import_mirror(directory: Path, *, store: Store, emit: Emit, cancel: Cancel) -> Carried:
    """Take every file of a mirror into the store, each verified while it is copied.

    What the store has already is not read again. Raises :class:`MirrorError` for what is no
    mirror, :class:`StrangerError` for files that its index does not name, and
    :class:`DigestMismatchError` or :class:`SizeMismatchError` for files that are not what it
    says; what was right until then is in the store.
    """
    for part in (directory / FILE_NAME, directory / "files"):
        if part.is_symlink():
            raise MirrorError(f"{part} is a link, which no mirror of ours has.")
    index = read_index(directory)
    digests = {Digest(file.sha256) for file in index.files}
    _refuse_strangers(directory, digests)
    store.prepare()
    new = 0
    for number, file in enumerate(index.files, 1):
        digest = Digest(file.sha256)
        if not store.has_file(digest, file.size):
            with store.scratch() as scratch:
                source = _regular(place_of(directory, digest), file)
                copied = scratch / digest.hex
                _copy(source, copied, digest, file.name, cancel)
                store.add_file(copied, digest)
            new += 1
        emit(Progress("import", number, len(index.files), "files"))
    return Carried(directory, tuple(index.files), new)


def _artifacts(loaded: LoadedRelease, targets: Sequence[Target]) -> Iterator[Artifact]:
    lock = load_release_lock(loaded)
    for target in targets:
        require_locked(loaded, lock, target)
        yield from lock.for_target(target)
    host = host_platform()
    for name, version in loaded.row.tools.items():
        # Not every tool is made for every host; a bundle that needs one says so.
        with suppress(HostToolMissingError):
            yield find_tool(name, version, host).artifact


def _once(artifacts: Sequence[Artifact]) -> list[Artifact]:
    """One artifact for each digest."""
    return list({artifact.sha256: artifact for artifact in artifacts}.values())


def _claim(directory: Path) -> None:
    if (directory / FILE_NAME).is_file():
        return
    try:
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise OutputNotOursError(
                f"{directory} holds something that is no mirror.",
                hint="Choose a new or an empty directory.",
            )
        directory.mkdir(parents=True, exist_ok=True)
        # First, so that an interrupted export is known as ours.
        write_index(directory, empty_index())
    except OSError as error:
        raise from_os_error(error, f"write {directory}") from error


def _copy(source: Path, final: Path, digest: Digest, name: str, cancel: Cancel) -> None:
    """Copy a file that becomes ``final`` only if its bytes are right."""
    found = hashlib.sha256()
    try:
        with source.open("rb") as reader, atomic_writer(final) as writer:
            while chunk := reader.read(_CHUNK):
                cancel.check()
                found.update(chunk)
                writer.write(chunk)
            if found.hexdigest() != digest.hex:
                raise DigestMismatchError(
                    f"{name} is not what the mirror's index says.",
                    context={"file": source, "expected": digest, "found": found.hexdigest()},
                    hint="Export the mirror anew, and carry it again.",
                )
    except OSError as error:
        raise from_os_error(error, f"copy {name}") from error


def _regular(path: Path, file: MirrorFile) -> Path:
    """The file's path, if a plain file of the right size lies there."""
    try:
        facts = path.lstat()
    except FileNotFoundError:
        raise MirrorError(
            f"{file.name} is in the mirror's index and not in the mirror.",
            context={"file": path},
            hint="The export was interrupted, or not all of it was carried.",
        ) from None
    if not stat.S_ISREG(facts.st_mode):
        raise MirrorError(f"{file.name} is no plain file in the mirror.", context={"file": path})
    if facts.st_size != file.size:
        raise SizeMismatchError(
            f"{file.name} has {facts.st_size} bytes, the mirror's index says {file.size}.",
            context={"file": path},
            hint="Export the mirror anew, and carry it again.",
        )
    return path


def _refuse_strangers(directory: Path, known: set[Digest]) -> None:
    wanted = {place_of(directory, digest) for digest in known}
    strangers = sorted(
        path.relative_to(directory).as_posix()
        for path in (directory / "files").rglob("*")
        if path not in wanted
        and (path.is_symlink() or not path.is_dir())
        # What an export that is running, or was killed, has not finished.
        and not path.name.endswith(".part")
    )
    if strangers:
        shown = ", ".join(strangers[:_SHOWN])
        more = f" and {len(strangers) - _SHOWN} more" if len(strangers) > _SHOWN else ""
        raise StrangerError(
            f"The mirror holds files that its index does not name: {shown}{more}.",
            context={"mirror": directory},
            hint="An interrupted `vvbuild mirror export` is finished by running it again.",
        )
