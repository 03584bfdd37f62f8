"""Loading locks, and refusing those that cannot be trusted."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from vvbuild import resources
from vvbuild.errors import LockError, from_os_error
from vvbuild.manifest.decode import Problem, decode, read_document
from vvbuild.manifest.pins import PinnedArtifact
from vvbuild.manifest.release import LoadedRelease
from vvbuild.model.artifact import Artifact, check_file_name
from vvbuild.model.digest import Digest
from vvbuild.model.lock import Lock, Unlocked
from vvbuild.model.locked import LockedArtifact, LockFile
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Target
from vvbuild.model.terms import MOST_BYTES, decode_terms


def lock_path(name: str, manifest: Path | None = None) -> Path:
    """Where a lock is read from; that of a manifest from elsewhere lies beside it."""
    if manifest is not None and not _is_shelved(manifest):
        return manifest.with_suffix(".lock.json")
    return resources.manifest_file(f"locks/{name}.lock.json")


def lock_destination(name: str, manifest: Path | None = None) -> Path:
    """Where a lock is written: among the user's own manifests where there are any."""
    if manifest is not None and not _is_shelved(manifest):
        return lock_path(name, manifest)
    return resources.manifest_dirs()[0] / "locks" / f"{name}.lock.json"


def lock_command(loaded: LoadedRelease) -> str:
    """What makes the lock of a release, for people to copy."""
    wanted = loaded.name if _is_shelved(loaded.path) else str(loaded.path)
    own = resources.overlay()
    words = ["vvbuild", "lock", "--release", wanted]
    return shlex.join([*words, "--manifests", str(own)] if own else words)


def _is_shelved(manifest: Path) -> bool:
    return manifest.parent in [each / "releases" for each in resources.manifest_dirs()]


def load_lock(
    path: Path,
    *,
    expected: Digest,
    release: str,
    pinned: Sequence[PinnedArtifact],
    hint: str | None = None,
    allow_local: bool = False,
) -> Lock:
    """Load a lock that was made for the pins with digest ``expected``, the artifacts ``pinned``.

    Raises :class:`LockError` (status 4) for a lock that is missing, malformed, incomplete,
    or made from another state of the manifest; ``hint`` says how it is written anew.
    """
    try:
        row = _checked(path, expected, release, pinned, allow_local)
    except LockError as error:
        error.hint = hint or f"`vvbuild lock --release {release}` writes it anew."
        raise
    return lock_of(row, pinned, allow_local=allow_local)


def lock_of(row: LockFile, pinned: Sequence[PinnedArtifact], *, allow_local: bool = False) -> Lock:
    """The artifacts of a lock that was checked; ``ValueError`` for one that was not."""
    artifacts = tuple(
        replace(unpack_row(item, allow_local=allow_local), into=pin.into, unpack=pin.unpack)
        for item in row.artifacts
        if item.unlocked is None and (pin := pin_of(item.name, pinned)) is not None
    )
    unlocked = tuple(
        Unlocked(item.name, item.component, item.version, tuple(item.targets), item.unlocked)
        for item in row.artifacts
        if item.unlocked is not None
    )
    return Lock(row.release, Digest(row.manifest_sha256), artifacts, unlocked)


def require_locked(loaded: LoadedRelease, lock: Lock, target: Target) -> None:
    """Raise :class:`LockError` where a bundle for ``target`` needs what nobody has fixed."""
    gaps = lock.gaps(target)
    if gaps:
        raise LockError(
            f"{len(gaps)} of the artifacts for {target} are not locked.",
            context={item.name: item.reason for item in gaps},
            hint=f"`{lock_command(loaded)}` asks for their digests and sizes; --allow-unlocked "
            "takes what the servers have now, and records it in the bundle.",
        )


def load_release_lock(loaded: LoadedRelease) -> Lock:
    """The lock of a release."""
    return load_lock(
        lock_path(loaded.name, loaded.path),
        expected=loaded.pins_digest,
        release=loaded.name,
        pinned=loaded.artifacts,
        hint=f"`{lock_command(loaded)}` writes it anew.",
    )


def unpack_row(row: LockedArtifact, *, allow_local: bool = False) -> Artifact:
    """A row of a lock as an artifact; ``ValueError`` says what is wrong with it."""
    if row.sha256 is None:
        raise ValueError("expected sha256, or the reason why nobody knows it as `unlocked`")
    if row.size is None and row.max_size is None:
        raise ValueError("expected size or max_size; without both there is no limit")
    return Artifact(
        name=check_file_name(row.name),
        component=row.component,
        version=row.version,
        references=tuple(Reference.parse(text, allow_local=allow_local) for text in row.references),
        sha256=Digest(row.sha256),
        size=None if row.size is None else ByteSize(row.size),
        max_size=None if row.max_size is None else ByteSize(row.max_size),
        targets=tuple(row.targets),
        licence=row.licence,
        provenance=row.provenance,
        members=row.members,
        terms=None if row.terms is None else Digest(row.terms),
    )


def pin_of(name: str, pinned: Sequence[PinnedArtifact]) -> PinnedArtifact | None:
    """The pin that a locked artifact is of; one of many assets gets a pin of its own name."""
    exact = next((pin for pin in pinned if pin.name == name), None)
    if exact is not None:
        return exact
    return next((pin.named(name) for pin in pinned if pin.covers(name)), None)


def _checked(
    path: Path, expected: Digest, release: str, pinned: Sequence[PinnedArtifact], allow_local: bool
) -> LockFile:
    if not path.is_file():
        raise LockError(f"The release {release!r} has no lock.", context={"file": path})
    document = read_document(path, LockError)
    row = decode(document, LockFile, LockError)
    problems = list(_problems(row, allow_local=allow_local))
    if problems:
        raise document.error(problems, LockError)
    if row.release != release:
        complaint = f"expected {release!r}, but this is the lock of {row.release[:64]!r}"
        raise document.error([(("release",), complaint)], LockError)
    if row.manifest_sha256 != expected.hex:
        raise LockError(
            f"{path} was made from another state of the manifest of {release!r}.",
            context={"lock says": row.manifest_sha256, "manifest is": expected},
        )
    gaps = list(_gaps(row, pinned))
    if gaps:
        raise document.error(gaps, LockError)
    return row


def _problems(row: LockFile, *, allow_local: bool) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for index, item in enumerate(row.artifacts):
        try:
            if item.unlocked is None:
                unpack_row(item, allow_local=allow_local)
            elif item.sha256 is not None:
                raise ValueError("expected sha256 or unlocked, not both")
        except ValueError as error:
            yield ("artifacts", index), str(error)
        if item.name in seen:
            yield ("artifacts", index, "name"), f"{item.name!r} stands twice"
        seen.setdefault(item.name, index)


def _gaps(row: LockFile, pinned: Sequence[PinnedArtifact]) -> Iterator[Problem]:
    """Where a lock that claims the right manifest does not hold what that pins."""
    names = [item.name for item in row.artifacts]
    for pin in pinned:
        if pin.name not in names and not any(map(pin.covers, names)):
            yield ("artifacts",), f"{pin.name!r} is pinned and not locked"
    for index, item in enumerate(row.artifacts):
        own = pin_of(item.name, pinned)
        if own is None:
            yield ("artifacts", index), f"{item.name!r} is locked and not pinned"
            continue
        if own.is_glob and item.unlocked is None:
            yield ("artifacts", index, "name"), "stands for several files; each has a row"
        wanted = {
            "component": own.component,
            "version": own.version,
            "references": [str(reference) for reference in own.references],
            "targets": list(own.targets),
        }
        for key, value in wanted.items():
            if getattr(item, key) != value:
                yield ("artifacts", index, key), f"expected {value!r}, as the manifest pins it"


# Texts that must be accepted


def terms_directory(lock: Path) -> Path:
    """Where a lock's texts are written: ``terms/`` beside it, or ``NAME.terms/`` in a checkout."""
    if lock.parent in [each / "locks" for each in resources.manifest_dirs()]:
        return lock.parent / "terms"
    return lock.with_name(f"{lock.name.removesuffix('.lock.json')}.terms")


def read_terms(
    loaded: LoadedRelease, digest: Digest, known: Mapping[str, str] | None = None
) -> str:
    """The text of that digest that a release's lock names; ``known`` are texts by digest.

    Raises as :func:`find_terms` does.
    """
    if known and digest.hex in known:
        return known[digest.hex]
    try:
        return find_terms(lock_path(loaded.name, loaded.path), digest)
    except LockError as error:
        error.hint = f"`{lock_command(loaded)}` asks for it again."
        raise


def find_terms(lock: Path, digest: Digest) -> str:
    """A text from beside a lock, or from among the manifests, in its canonical form.

    Raises :class:`LockError` (status 4) for one that is missing, or not what its digest says.
    """
    places = (terms_directory(lock), *(it / "locks/terms" for it in resources.manifest_dirs()))
    for place in dict.fromkeys(places):
        path = place / f"{digest.hex}.txt"
        if os.path.lexists(path):
            return _read_text(path, digest)
    raise LockError(
        f"The text {digest.short}, which must be accepted, is missing.",
        context={"digest": digest, "looked in": ", ".join(map(str, dict.fromkeys(places)))},
    )


def _read_text(path: Path, digest: Digest) -> str:
    context = {"file": path, "digest": digest}
    try:
        if not path.is_file():
            raise LockError(f"{path.name} is no file.", context=context)
        with path.open("rb") as stream:
            text = decode_terms(stream.read(MOST_BYTES * 2))
    except ValueError as error:
        raise LockError(f"{path.name} is no text to accept: {error}.", context=context) from None
    except OSError as error:
        raise from_os_error(error, f"read {path}") from error
    if Digest.of_bytes(text.encode()) != digest:
        raise LockError(f"The text {digest.short} was changed.", context=context)
    return text
