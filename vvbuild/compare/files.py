"""What two locks fix differently."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from vvbuild.compare.differences import File, FileChange
from vvbuild.errors import LockError
from vvbuild.manifest.lock import load_release_lock
from vvbuild.manifest.pins import PinnedArtifact
from vvbuild.manifest.release import LoadedRelease
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.lock import Unlocked
from vvbuild.model.release import COMPONENTS
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Target


def files_of(release: LoadedRelease) -> tuple[tuple[File, ...], str | None]:
    """The artifacts of a release, and why its lock does not tell their bytes, if so."""
    try:
        lock = load_release_lock(release)
    except LockError as error:
        return tuple(map(_file, release.artifacts)), error.message
    locked = [_file(each, each.sha256, each.size, each.terms) for each in lock.artifacts]
    return (*locked, *(_unlocked(each, release) for each in lock.unlocked)), None


def _unlocked(gap: Unlocked, release: LoadedRelease) -> File:
    """A file that the manifest names, by itself or by a glob, and whose bytes nobody knows."""
    pin = next(each for each in release.artifacts if each.name == gap.name or each.covers(gap.name))
    return replace(_file(pin if pin.name == gap.name else pin.named(gap.name)), targets=gap.targets)


def _file(
    artifact: PinnedArtifact | Artifact,
    sha256: Digest | None = None,
    size: ByteSize | None = None,
    terms: Digest | None = None,
) -> File:
    return File(
        name=artifact.name,
        component=artifact.component,
        version=artifact.version,
        references=tuple(map(str, artifact.references)),
        targets=tuple(artifact.targets),
        sha256=sha256,
        size=size,
        into=artifact.into,
        unpack=artifact.unpack,
        terms=terms,
    )


def file_changes(
    before: Sequence[File], after: Sequence[File], common: Sequence[Target]
) -> tuple[FileChange, ...]:
    """Files that are gone, new, or other ones; by component, then by name.

    A file stands in the place of another one of its component: the one of the same name, or of
    the same name but for the version, or the only one for the same targets. Files for targets
    that only one side has do not count.
    """
    left, right = _for_common(before, common), _for_common(after, common)
    changes: list[FileChange] = []
    for place in (_name, _name_without_version, _targets):
        pairs = _pairs(left, right, place)
        left = [each for each in left if all(each is not old for old, _ in pairs)]
        right = [each for each in right if all(each is not new for _, new in pairs)]
        changes += [FileChange(old, new) for old, new in pairs if old != new]
    changes += [FileChange(each, None) for each in left]
    changes += [FileChange(None, each) for each in right]
    return tuple(sorted(changes, key=_order))


def _for_common(files: Sequence[File], common: Sequence[Target]) -> list[File]:
    names = [str(target) for target in common]
    cut = (
        replace(each, targets=tuple(name for name in names if name in each.targets))
        for each in files
    )
    return [each for each in cut if each.targets]


def _name(file: File) -> object:
    return file.name


def _name_without_version(file: File) -> object:
    return file.component, file.name.replace(file.version, "")


def _targets(file: File) -> object:
    return file.component, file.targets


def _pairs(
    left: Sequence[File], right: Sequence[File], place: Callable[[File], object]
) -> list[tuple[File, File]]:
    """The files that are alone in their place on both sides."""
    old, new = _by(place, left), _by(place, right)
    return [
        (files[0], new[key][0])
        for key, files in old.items()
        if len(files) == 1 and len(new.get(key, ())) == 1
    ]


def _by(place: Callable[[File], object], files: Sequence[File]) -> dict[object, list[File]]:
    places: dict[object, list[File]] = {}
    for each in files:
        places.setdefault(place(each), []).append(each)
    return places


def _order(change: FileChange) -> tuple[int, tuple[str, ...]]:
    sides = [each for each in (change.before, change.after) if each is not None]
    # Both names, in an order that does not depend on which side is which.
    return COMPONENTS.index(sides[0].component), tuple(sorted(each.name for each in sides))
