"""Loading locks, and refusing those that cannot be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vvbuild import resources
from vvbuild.errors import LockError, VvbuildError
from vvbuild.manifest.decode import Document, Problem, decode, read_document
from vvbuild.manifest.release import LoadedRelease
from vvbuild.model.artifact import Artifact, check_file_name
from vvbuild.model.digest import Digest
from vvbuild.model.lock import Lock
from vvbuild.model.reference import Reference
from vvbuild.model.release import LockedArtifact, LockFile
from vvbuild.model.size import ByteSize


def lock_path(name: str) -> Path:
    """Where the lock of a packaged release lies."""
    return resources.manifests_dir() / "locks" / f"{name}.lock.json"


def load_lock(path: Path, *, expected: Digest, release: str, allow_local: bool = False) -> Lock:
    """Load a lock that was made for the pins with digest ``expected``.

    Raises :class:`LockError` (status 4) for a lock that is missing, malformed, incomplete,
    or made from another state of the manifest.
    """
    hint = f"`vvbuild lock --release {release}` writes it anew."
    if not path.is_file():
        raise LockError(f"The release {release!r} has no lock.", context={"file": path}, hint=hint)
    document = read_document(path, LockError)
    row = decode(document, LockFile, LockError)
    problems = list(_problems(row, allow_local=allow_local))
    if problems:
        raise _with_hint(document, problems, hint)
    if row.release != release or row.manifest_sha256 != expected.hex:
        raise LockError(
            f"{path} was made from another state of the manifest of {release!r}.",
            context={"lock says": row.manifest_sha256, "manifest is": expected},
            hint=hint,
        )
    artifacts = tuple(unpack_row(item, allow_local=allow_local) for item in row.artifacts)
    return Lock(release, expected, artifacts)


def load_release_lock(loaded: LoadedRelease) -> Lock:
    """The lock of a packaged release."""
    return load_lock(lock_path(loaded.name), expected=loaded.pins_digest, release=loaded.name)


def unpack_row(row: LockedArtifact, *, allow_local: bool = False) -> Artifact:
    """A row of a lock as an artifact; ``ValueError`` says what is wrong with it."""
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
    )


def _problems(row: LockFile, *, allow_local: bool) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for index, item in enumerate(row.artifacts):
        try:
            unpack_row(item, allow_local=allow_local)
        except ValueError as error:
            yield ("artifacts", index), str(error)
        if item.name in seen:
            yield ("artifacts", index, "name"), f"{item.name!r} stands twice"
        seen.setdefault(item.name, index)


def _with_hint(document: Document, problems: list[Problem], hint: str) -> VvbuildError:
    error = document.error(problems, LockError)
    error.hint = hint
    return error
