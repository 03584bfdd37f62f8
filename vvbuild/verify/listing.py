"""What an archive says of its members: modes and links, which unpacking makes its own of."""

from __future__ import annotations

import re
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from vvbuild.binary.archives.kinds import Kind, kind_of
from vvbuild.binary.archives.limits import UnpackLimits
from vvbuild.binary.archives.packed import unpacked
from vvbuild.binary.archives.seven_program import SevenZip
from vvbuild.binary.archives.zip_contents import ZipContents, link_text
from vvbuild.binary.archives.zip_index import UTF8, ZipError, read_index
from vvbuild.errors import HostileArchiveError, HostToolMissingError
from vvbuild.runtime.cancel import Cancel

_MODE = re.compile(r"(?:^|\s)([-dlcbpsD])([-rwxsStT]{9})$")
_LONGEST_LINK, _LONGEST_LINE, _CHUNK = 4096, 64 << 10, 1 << 20
_RULE = b"----------"
# `rwsr-x--x` counts from the left: the letter, its bit, and what an upper case one leaves out.
_LETTERS = {"s": 1, "t": 1, "S": 0, "T": 0, "x": 1, "r": 1, "w": 1, "-": 0}
_SPECIAL = {2: stat.S_ISUID, 5: stat.S_ISGID, 8: stat.S_ISVTX}


@dataclass(frozen=True, slots=True)
class Listed:
    """A file or link of an archive.

    ``mode`` are permission bits, ``None`` where the archive tells none; ``link`` is what is
    written in a symbolic link; ``marked`` tells whether a name that is not ASCII is known to be
    UTF-8.
    """

    path: str
    mode: int | None = None
    link: str | None = None
    marked: bool = True


def list_members(archive: Path, *, seven_zip: Path | None, cancel: Cancel) -> dict[str, Listed]:
    """The files and links of an archive, by their paths.

    Raises :class:`HostileArchiveError` for what cannot be read, and
    :class:`HostToolMissingError` where 7-Zip is needed and not given.
    """
    kind = kind_of(archive)
    if kind == "zip":
        members = _of_zip(archive, cancel)
    elif kind == "7z":
        members = _of_7z(archive, seven_zip, cancel)
    else:
        members = _of_tar(archive, kind, seven_zip, cancel)
    return {each.path: each for each in members}


def _path(name: str) -> str:
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def _of_zip(archive: Path, cancel: Cancel) -> Iterator[Listed]:
    with archive.open("rb", buffering=0) as stream:
        try:
            source = ZipContents(stream)
            for member in read_index(stream, archive.stat().st_size, UnpackLimits().files):
                if member.is_directory:
                    continue
                marked = member.name.isascii() or bool(member.flags & UTF8)
                mode = stat.S_IMODE(member.mode) if member.mode else None
                link = None
                if stat.S_ISLNK(member.mode) and member.size <= _LONGEST_LINK:
                    link = link_text(b"".join(source.contents(member, cancel)), member)
                yield Listed(_path(member.name), mode, link, marked)
        except ZipError as error:
            raise HostileArchiveError(
                f"{archive.name} cannot be read: {error}.", context={"archive": archive}
            ) from None


def _of_tar(archive: Path, kind: Kind, seven_zip: Path | None, cancel: Cancel) -> Iterator[Listed]:
    try:
        with (
            unpacked(archive, kind, cancel, seven_zip) as stream,
            tarfile.open(  # type: ignore[call-overload]
                fileobj=stream, mode="r|", bufsize=_CHUNK, encoding="utf-8", errors="strict"
            ) as tar,
        ):
            for member in tar:
                cancel.check()
                if not member.isdir():
                    link = member.linkname if member.issym() else None
                    yield Listed(_path(member.name), stat.S_IMODE(member.mode), link)
                tar.members.clear()
            while stream.read(_CHUNK):
                pass
    except (tarfile.TarError, EOFError, ValueError, RecursionError) as error:
        raise HostileArchiveError(
            f"{archive.name} is damaged, or not a tar: {error}.", context={"archive": archive}
        ) from error


def _of_7z(archive: Path, program: Path | None, cancel: Cancel) -> Iterator[Listed]:
    if program is None:
        raise HostToolMissingError(
            f"{archive.name} is a 7z archive, and there is no 7-Zip to read it with.",
            hint="Unpack it with `7zz x -snld`, and name the directory.",
        )
    reader = SevenZip(program, archive, cancel)
    links: list[tuple[str, int, int | None]] = []
    with tempfile.TemporaryFile() as errors:
        with reader.run("l", "-slt", errors=errors) as stream:
            for record in _records(stream, reader):
                found = _MODE.search(record.get("Attributes", ""))
                kind = found[1] if found is not None else "-"
                mode = _mode(found[2]) if found is not None else None
                name = record.get("Path", "")
                if kind == "l":
                    links.append((name, int(record.get("Size", "") or 0), mode))
                elif kind != "d" and not record.get("Attributes", "").startswith("D"):
                    yield Listed(_path(name), mode)
            reader.finish("cannot be listed")
        yield from _links_of_7z(reader, links, errors)


def _links_of_7z(
    reader: SevenZip, links: list[tuple[str, int, int | None]], errors: IO[bytes]
) -> Iterator[Listed]:
    """What is written in links is their contents; 7-Zip writes those in the archive's order."""
    if not links:
        return
    if any(size > _LONGEST_LINK for _, size, _ in links):
        reader.refuse("has a link with too long a target")
    # `-spd`: a star in a name is a star.
    words = ["x", "-so", "-spd", *(f"-i!{name}" for name, _, _ in links)]
    with reader.run(*words, errors=errors) as stream:
        for name, size, mode in links:
            yield Listed(_path(name), mode, stream.read(size).decode("utf-8", "replace"))
        reader.finish("is damaged")


def _records(stream: IO[bytes], reader: SevenZip) -> Iterator[dict[str, str]]:
    record: dict[str, str] = {}
    listing = False
    while line := stream.readline(_LONGEST_LINE):
        if not line.endswith(b"\n"):
            reader.refuse("has a name of absurd length")
        text = line.rstrip(b"\r\n")
        if not listing:
            listing = text == _RULE
        elif text:
            key, _, value = text.decode("utf-8", "replace").partition(" =")
            record[key] = value.removeprefix(" ")
        elif record:
            yield record
            record = {}
    if record:
        yield record


def _mode(letters: str) -> int:
    """The bits of `rwxr-xr-x`."""
    mode = 0
    for place, letter in enumerate(letters):
        mode |= _LETTERS[letter] << (8 - place)
        if letter in "sStT":
            mode |= _SPECIAL[place]
    return mode
