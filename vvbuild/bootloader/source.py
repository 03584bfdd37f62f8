"""The part of PyInstaller's source archive that its bootloader is built from."""

from __future__ import annotations

import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from vvbuild.errors import BootloaderError, HostileArchiveError
from vvbuild.runtime.cancel import Cancel

_ROOT = re.compile(r"pyinstaller-(?P<version>\d[\w.+!-]*)", re.IGNORECASE)
# Nothing else of the archive is read by the build (tried with 5.3, 5.13.2, 6.11.1 and 6.22.3).
_FOLDER = "bootloader"
_SHARED = PurePosixPath("PyInstaller", "_shared_with_waf.py")
_ENTRY = PurePosixPath(_FOLDER, "waf")
# PyInstaller 6.22.3 unpacks to 11 MiB in 1,450 files.
_MOST_BYTES = 256 << 20
_MOST_MEMBERS = 20_000


def unpack_bootloader_source(sdist: Path, dest: Path, cancel: Cancel) -> str:
    """Write ``bootloader/`` and what it shares with PyInstaller into ``dest``.

    Returns the version of PyInstaller. Only regular files are written, with fixed modes. Raises
    :class:`HostileArchiveError` for a member that leaves its folder, is a link or a device,
    comes twice (also where only the case differs), or for an archive that is too large or
    cannot be read; :class:`BootloaderError` for an archive of something else.
    """
    versions: set[str] = set()
    taken: dict[str, bool] = {}
    try:
        with tarfile.open(sdist, "r:gz") as archive:
            for member in _members(archive, cancel):
                root, path = _placed(member.name)
                versions.add(root)
                if not _wanted(path) or member.isdir():
                    continue
                _claim(path, member, taken)
                stream = archive.extractfile(member)
                assert stream is not None
                target = dest / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(stream.read())
                target.chmod(0o644)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise HostileArchiveError(
            f"{sdist.name} is not a whole .tar.gz archive: {error}.", context={"path": sdist}
        ) from error
    version = _ROOT.fullmatch(next(iter(versions))) if len(versions) == 1 else None
    if version is None or str(_ENTRY).lower() not in taken:
        raise BootloaderError(
            f"{sdist.name} is not a source archive of PyInstaller.",
            context={"top folders": ", ".join(sorted(versions)[:3]), "expected": _ENTRY},
            hint="The pyinstaller component of the release needs the sdist (pyinstaller-X.tar.gz).",
        )
    return version["version"]


def _members(archive: tarfile.TarFile, cancel: Cancel) -> Iterator[tarfile.TarInfo]:
    total = 0
    for count, member in enumerate(archive):
        cancel.check()
        total += max(member.size, 0)
        if total > _MOST_BYTES or count >= _MOST_MEMBERS:
            raise HostileArchiveError(
                "The source archive of PyInstaller is far larger than any release of it.",
                context={"limit": f"{_MOST_BYTES >> 20} MiB, {_MOST_MEMBERS} members"},
            )
        yield member


def _placed(name: str) -> tuple[str, PurePosixPath]:
    """Split a member's name into the top folder and the rest; refuse one that could escape."""
    parts = name.rstrip("/").split("/")
    if any(part in ("", ".", "..") for part in parts) or re.search(r"[\\:\x00-\x1f]", name):
        raise HostileArchiveError(
            "The source archive of PyInstaller has a member that must not be unpacked.",
            context={"member": repr(name)},
        )
    return parts[0], PurePosixPath(*parts[1:])


def _wanted(path: PurePosixPath) -> bool:
    return path == _SHARED or (len(path.parts) > 0 and path.parts[0] == _FOLDER)


def _claim(path: PurePosixPath, member: tarfile.TarInfo, taken: dict[str, bool]) -> None:
    """Note a file (true) and its folders (false), as a disk that ignores case sees them."""
    name = str(path).lower()
    folders = [str(parent).lower() for parent in path.parents]
    clash = name in taken or any(taken.get(folder, False) for folder in folders)
    if clash or not member.isreg():
        reason = "comes twice" if clash else "is not a regular file"
        raise HostileArchiveError(
            f"The source archive of PyInstaller has a member that {reason}.",
            context={"member": repr(member.name)},
        )
    taken |= dict.fromkeys(folders, False) | {name: True}
