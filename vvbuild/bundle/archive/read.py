"""Unpack a ``.vvpp``, whole or in parts, as the editor would get it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vvbuild.bundle.archive.names import parse_vvpp_part, vvpp_name
from vvbuild.errors import IntegrityError, UsageError, from_os_error
from vvbuild.fetch.unpack import unpack
from vvbuild.runtime.cancel import Cancel

_7Z = b"7z\xbc\xaf\x27\x1c"
_CHUNK = 8 << 20


def unpack_bundle(archive: Path, dest: Path, *, cancel: Cancel) -> int:
    """Unpack a ``.vvpp``, or the ``.NNN.vvppp`` of which ``archive`` is any part, into ``dest``.

    ``dest`` is made, or is empty. Modes and links are kept and nothing is trusted, see
    :func:`vvbuild.fetch.unpack.unpack`. Parts are joined in a scratch file first, beside
    ``dest``. Returns the number of files and links.

    Raises :class:`UsageError` for a 7z, :class:`IntegrityError` for a missing part, and
    :class:`HostileArchiveError` for an archive that is damaged or must not be unpacked.
    """
    try:
        parts = find_parts(archive)
        _refuse_7z(parts[0])
        if len(parts) == 1:
            return unpack(parts[0], dest, cancel=cancel)
        with _joined(parts, dest.absolute().parent, cancel) as whole:
            return unpack(whole, dest, cancel=cancel)
    except OSError as error:
        raise from_os_error(error, f"unpack {archive.name}") from error


def find_parts(archive: Path) -> list[Path]:
    """All parts of the archive of which ``archive`` is one, in order; others are whole.

    Parts are what the editor takes for such: every ``{stem}.{number}.vvppp`` beside it.
    Raises :class:`IntegrityError` for a number that is missing or there twice.
    """
    archive.stat()  # raises where there is nothing
    own = parse_vvpp_part(archive.name)
    if own is None:
        return [archive]
    stem = own[0]
    numbered: list[tuple[int, Path]] = []
    for path in archive.parent.iterdir():
        part = parse_vvpp_part(path.name)
        if part is not None and part[0] == stem:
            numbered.append((part[1], path))
    numbered.sort()
    for expected, (number, _) in enumerate(numbered, start=1):
        if number != expected:
            what = "is missing" if number > expected else "is there twice"
            raise IntegrityError(
                f"Part {min(number, expected)} of {stem} {what}.",
                context={"parts": ", ".join(path.name for _, path in numbered)},
                hint="Fetch all parts again; the list is in the .vvpp.txt beside them.",
            )
    return [path for _, path in numbered]


def _refuse_7z(path: Path) -> None:
    with path.open("rb") as stream:
        if stream.read(len(_7Z)) == _7Z:
            raise UsageError(
                f"{path.name} is a 7z archive, which only 7-Zip unpacks.",
                hint="Unpack it with `7zz x -snld`, and name the directory instead.",
            )


@contextmanager
def _joined(parts: Iterable[Path], directory: Path, cancel: Cancel) -> Iterator[Path]:
    ordered = list(parts)
    parsed = parse_vvpp_part(ordered[0].name)
    assert parsed is not None
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".joined-", dir=directory) as scratch:
        whole = Path(scratch, vvpp_name(parsed[0]))
        with whole.open("xb") as stream:
            for part in ordered:
                with part.open("rb") as source:
                    while chunk := source.read(_CHUNK):
                        cancel.check()
                        stream.write(chunk)
        yield whole
