"""``mirror export`` and ``mirror import``: nothing is believed on either side."""

from __future__ import annotations

import hashlib
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vvbuild import resources
from vvbuild.bundle.wheels import is_wheel, shelve
from vvbuild.errors import (
    DigestMismatchError,
    DiskFullError,
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
from vvbuild.fetch.store.presence import hold, lock_at
from vvbuild.manifest.lock import load_release_lock, lock_path, require_locked
from vvbuild.manifest.recipe import recipe_file
from vvbuild.manifest.release import LoadedRelease
from vvbuild.manifest.targets import host_platform
from vvbuild.manifest.tools import LOCK_NAME as TOOLS_LOCK
from vvbuild.manifest.tools import find_tool
from vvbuild.mirror.index import (
    FILE_NAME,
    MirrorFile,
    MirrorIndex,
    MirrorManifest,
    MirrorRelease,
    empty_index,
    joined,
    place_of,
    read_index,
    write_index,
)
from vvbuild.mirror.wheels import engine_wheels
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.events import Emit, Progress
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Platform, Target
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import atomic_writer, hash_file, write_atomically

_CHUNK = 1 << 20
_SHOWN = 8
# Beside the index; runs that export to one directory take turns.
_LOCK = ".vvbuild-mirror.lock"


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
    hosts: Sequence[Platform] = (),
) -> Carried:
    """Add what bundles of a release are made from to a mirror.

    With it come the tools and the engine's Python packages for ``hosts`` (by default for such a
    machine as this), and the manifests. A directory that holds anything but a mirror is refused.
    Interrupted, the same call carries on: the index names a file only after it is there. Calls
    for one directory take turns.

    Raises typed errors, among them :class:`~vvbuild.errors.LockError` for a release with
    unlocked artifacts and :class:`~vvbuild.errors.DiskFullError` before anything is copied.
    """
    hosts = tuple(hosts) or (host_platform(),)
    artifacts = list(_artifacts(loaded, targets, hosts))
    _claim(directory)
    store.prepare()
    with Session(offline=offline, cancel=cancel) as session:
        wheels = engine_wheels(
            loaded, hosts, store=store, session=session, emit=emit, cancel=cancel
        )
        fetch_all([*artifacts, *wheels], store, session=session, emit=emit, cancel=cancel)
    for wheel in wheels:
        size = store.file_path(wheel.sha256).stat().st_size
        shelve(store, wheel.name, wheel.sha256, size)
    lock = lock_at(directory / _LOCK)
    hold(lock, cancel)
    try:
        files, new = _export(_once([*artifacts, *wheels]), directory, store, emit, cancel)
        release = MirrorRelease(
            name=loaded.name,
            pins_sha256=loaded.pins_digest.hex,
            targets=[str(target) for target in targets],
        )
        manifests = list(_export_manifests(loaded, directory))
        index = joined(read_index(directory), [release], files, manifests)
        write_index(directory, index)
    finally:
        lock.release()
    return Carried(directory, tuple(index.files), new)


def _export(
    artifacts: Sequence[Artifact], directory: Path, store: Store, emit: Emit, cancel: Cancel
) -> tuple[list[MirrorFile], int]:
    """Copy what is not there yet; returns all rows, and how many are new."""
    files, missing = [], []
    for artifact in artifacts:
        source = store.verified_file(artifact.sha256)
        row = MirrorFile(
            name=artifact.name,
            sha256=artifact.sha256.hex,
            size=source.stat().st_size,
            component=artifact.component,
            version=artifact.version,
            licence=artifact.licence,
        )
        files.append(row)
        final = place_of(directory, artifact.sha256)
        if not (final.is_file() and hash_file(final, cancel) == artifact.sha256):
            missing.append((row, source, final))
    count = _Count("export", sum(row.size for row, _, _ in missing), emit)
    _require_space(directory, count.total)
    for row, source, final in missing:
        _copy(source, final, Digest(row.sha256), row.name, cancel, count)
    return files, len(missing)


def _export_manifests(loaded: LoadedRelease, directory: Path) -> Iterator[MirrorManifest]:
    """Copy what the release was read from, in the layout that ``--manifests`` takes.

    The machine without a network has its own vvbuild, perhaps an older one, or none of a fork's
    manifests.
    """
    recipe = loaded.row.engine.recipe
    wanted = {
        **{f"releases/{path.name}": path for path in loaded.document.files},
        f"locks/{loaded.name}.lock.json": lock_path(loaded.name, loaded.path),
        f"locks/{TOOLS_LOCK}.lock.json": lock_path(TOOLS_LOCK),
        f"recipes/{recipe}.toml": recipe_file(recipe),
        "targets.toml": resources.manifest_file("targets.toml"),
        "tools.toml": resources.manifest_file("tools.toml"),
    }
    for relative, source in wanted.items():
        data = source.read_bytes()
        write_atomically(directory / "manifests" / relative, data)
        yield MirrorManifest(path=relative, sha256=Digest.of_bytes(data).hex)


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
    _check_manifests(directory, index)
    store.prepare()
    missing = [
        (_regular(place_of(directory, Digest(each.sha256)), each), each)
        for each in index.files
        if not store.has_file(Digest(each.sha256), each.size)
    ]
    count = _Count("import", sum(file.size for _, file in missing), emit)
    _require_space(store.base, count.total)
    for source, file in missing:
        digest = Digest(file.sha256)
        with store.scratch() as scratch:
            copied = scratch / digest.hex
            _copy(source, copied, digest, file.name, cancel, count)
            store.add_file(copied, digest)
    for file in index.files:
        if is_wheel(file.name):
            shelve(store, file.name, Digest(file.sha256), file.size)
    return Carried(directory, tuple(index.files), len(missing))


class _Count:
    """Bytes that were copied, told a few times a second at the most by whoever shows them."""

    def __init__(self, task: str, total: int, emit: Emit) -> None:
        self.task, self.total, self.emit = task, total, emit
        self.done = 0

    def add(self, count: int) -> None:
        self.done += count
        self.emit(Progress(self.task, self.done, self.total))


def _require_space(directory: Path, wanted: int) -> None:
    free = shutil.disk_usage(directory).free
    if wanted > free:
        raise DiskFullError(
            f"{ByteSize(wanted)} are to be copied, and {directory} has {ByteSize(free)} left.",
            context={"directory": directory},
            hint="Free some space, or choose a larger disk; nothing was copied.",
        )


def _check_manifests(directory: Path, index: MirrorIndex) -> None:
    for each in index.manifests:
        path = directory / "manifests" / each.path
        if path.is_symlink() or not path.is_file():
            raise MirrorError(
                f"manifests/{each.path} is in the mirror's index and not in the mirror.",
                hint="The export was interrupted, or not all of it was carried.",
            )
        if Digest.of_bytes(path.read_bytes()).hex != each.sha256:
            raise DigestMismatchError(
                f"manifests/{each.path} is not what the mirror's index says.",
                context={"file": path},
                hint="Export the mirror anew, and carry it again.",
            )


def _artifacts(
    loaded: LoadedRelease, targets: Sequence[Target], hosts: Sequence[Platform]
) -> Iterator[Artifact]:
    lock = load_release_lock(loaded)
    for target in targets:
        require_locked(loaded, lock, target)
        yield from lock.for_target(target)
    for host in hosts:
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


def _copy(
    source: Path, final: Path, digest: Digest, name: str, cancel: Cancel, count: _Count
) -> None:
    """Copy a file that becomes ``final`` only if its bytes are right."""
    found = hashlib.sha256()
    try:
        with source.open("rb") as reader, atomic_writer(final) as writer:
            while chunk := reader.read(_CHUNK):
                cancel.check()
                found.update(chunk)
                writer.write(chunk)
                count.add(len(chunk))
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
