"""All archives of one bundle, with the lists of their parts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from vvbuild.bundle.archive.names import VOLUME_SIZE, ArchiveFile, list_name, list_text
from vvbuild.bundle.archive.seven_zip import LEVEL as SEVEN_ZIP_LEVEL
from vvbuild.bundle.archive.seven_zip import write_7z
from vvbuild.bundle.archive.zip import LEVEL as ZIP_LEVEL
from vvbuild.bundle.archive.zip import write_vvpp
from vvbuild.errors import HostToolMissingError, from_os_error
from vvbuild.model.digest import Digest
from vvbuild.model.events import Emit, silent
from vvbuild.model.release import ArchiveKind
from vvbuild.model.size import ByteSize
from vvbuild.runtime.cancel import Cancel


def write_archives(
    tree: Path,
    directory: Path,
    *,
    stem: str,
    top: str,
    kinds: Iterable[ArchiveKind],
    epoch: int,
    work: Path,
    cancel: Cancel,
    level: int | None = None,
    volume_size: int = VOLUME_SIZE,
    seven_zip: Path | None = None,
    emit: Emit = silent,
) -> tuple[ArchiveFile, ...]:
    """Pack the bundle at ``tree`` into ``directory``, which is empty; returns what was written.

    Each kind gives its parts in order and then the list of them. ``stem`` begins every name,
    ``top`` is the folder that a ``.7z`` has everything in, ``epoch`` every time in seconds since
    1970, ``level`` libdeflate's for ``vvpp`` and ``-mx`` for ``7z`` (by default each has its
    own), ``seven_zip`` the program, ``work`` a directory for scratch.

    Raises :class:`HostToolMissingError` for ``7z`` without 7-Zip, :class:`ExternalError` where it
    fails, :class:`UsageError` for what cannot be packed, :class:`IntegrityError` for a bundle that
    changes meanwhile, and :class:`ResourceError` for a full disk or missing permission.
    """
    written: list[ArchiveFile] = []

    def vvpp() -> tuple[ArchiveFile, ...]:
        volumes = write_vvpp(
            tree, directory, stem, epoch=epoch, level=ZIP_LEVEL if level is None else level,
            volume_size=volume_size, emit=emit, cancel=cancel,
        )  # fmt: skip
        return tuple(
            ArchiveFile(part.path, part.size, part.sha256, "vvpp") for part in volumes.parts
        )

    def seven() -> tuple[ArchiveFile, ...]:
        if seven_zip is None:
            raise HostToolMissingError("A .7z cannot be written without 7-Zip.")
        return write_7z(
            program=seven_zip, tree=tree, top=top, stem=stem, directory=directory, work=work,
            epoch=epoch, level=SEVEN_ZIP_LEVEL if level is None else level,
            volume_size=volume_size, emit=emit, cancel=cancel,
        )  # fmt: skip

    try:
        for kind in kinds:
            parts = vvpp() if kind == "vvpp" else seven()
            written += [*parts, _write_list(directory / list_name(stem, kind), parts)]
    except OSError as error:
        raise from_os_error(error, "write the archives") from error
    return tuple(written)


def _write_list(path: Path, parts: Iterable[ArchiveFile]) -> ArchiveFile:
    data = list_text(part.path.name for part in parts).encode()
    path.write_bytes(data)
    return ArchiveFile(path, ByteSize(len(data)), Digest.of_bytes(data), "list")
