"""The CI matrix of a release: one job a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vvbuild.errors import UnknownNameError
from vvbuild.manifest.release import LoadedRelease
from vvbuild.manifest.targets import target_table
from vvbuild.model.target import Arch, Device, Os, Target


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """What the job of a target needs to know.

    ``runner`` is for `runs-on`, ``shell`` for `defaults.run.shell`, ``python`` for
    `actions/setup-python`; ``archive`` is the archives' file name without its ending.
    """

    target: str
    runner: str
    shell: str
    python: str
    upstream: str
    os: Os
    arch: Arch
    device: Device
    archive: str


def release_matrix(release: LoadedRelease, wanted: Sequence[Target] = ()) -> tuple[MatrixRow, ...]:
    """A row for each target, in the manifest's order; ``wanted`` leaves the others out.

    Raises :class:`UnknownNameError` for a wanted target that the release is not built for.
    """
    for target in wanted:
        if target not in release.targets:
            raise UnknownNameError(
                f"{release.name} is not built for {target}.",
                context={"targets": ", ".join(map(str, release.targets))},
                hint="Leave --target out for all of them.",
            )
    return tuple(
        _row(release, target) for target in release.targets if not wanted or target in wanted
    )


def _row(release: LoadedRelease, target: Target) -> MatrixRow:
    return MatrixRow(
        target=str(target),
        runner=release.runner(target),
        shell=target_table().os[target.os].shell,
        python=_range_of_semver(release.row.python.requires),
        upstream=release.upstream_name(target),
        os=target.os,
        arch=target.arch,
        device=target.device,
        archive=release.archive_names(target)[0],
    )


def _range_of_semver(specifier: str) -> str:
    """Python's ``==3.11.9`` as ``3.11.9``, ``>=3.10,<3.14`` as ``>=3.10 <3.14``."""
    clauses = (clause.strip() for clause in specifier.split(","))
    return " ".join(clause.removeprefix("==").strip() for clause in clauses)
