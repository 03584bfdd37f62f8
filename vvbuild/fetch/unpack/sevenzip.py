"""7z archives onto disk.

The pinned 7-Zip only reads: it lists the members, and then writes the contents of all of them to
its standard output, one behind the other. What is created, where, with which mode and as what,
is decided here by the same rules as for zips and tars; each member's bytes must have the size
and the checksum of the listing. So nothing that 7-Zip makes of a name, a link or a mode matters.

In a listing, 7-Zip shows control characters as underscores; a name that has some gets those.
"""

from __future__ import annotations

import re
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from vvbuild.binary.archives.ahead import ReadAhead
from vvbuild.binary.archives.limits import UnpackLimits
from vvbuild.binary.archives.seven_program import SevenZip
from vvbuild.errors import HostToolMissingError
from vvbuild.fetch.unpack.names import MemberKind, Selection
from vvbuild.fetch.unpack.writer import TreeWriter
from vvbuild.runtime.cancel import Cancel

_CHUNK = 1 << 20
_LONGEST_LINK = 4096
_LONGEST_LINE = 64 << 10
_RULE = b"----------"
# `drwxr-xr-x`, as 7-Zip shows a mode, behind Windows' letters.
_MODE = re.compile(r"(?:^|\s)([-dlcbpsD])([-rwxsStT]{9})$")
# Dictionaries: LZMA2:24 (a power of two), LZMA:1536m, PPMD:o32:mem28.
_MEMORY = re.compile(r":(?:mem)?(\d{1,12})([bkmg]?)")
_UNITS = {"b": 0, "k": 10, "m": 20, "g": 30}
# `-mx=9` takes 256 MiB at most.
_MOST_MEMORY = 1 << 30


class _Item(NamedTuple):
    name: str
    kind: MemberKind
    size: int
    crc: int
    mode: int


def unpack_7z(
    archive: Path,
    writer: TreeWriter,
    selection: Selection,
    limits: UnpackLimits,
    cancel: Cancel,
    program: Path | None,
) -> None:
    """Write a 7z's wanted members. Raises :class:`HostileArchiveError`."""
    if program is None:
        raise HostToolMissingError(
            f"{archive.name} is a 7z archive, and there is no 7-Zip to read it with.",
            hint="Pass the pinned 7-Zip, or unpack it with `7zz x -snld` and name the directory.",
        )
    with tempfile.TemporaryFile() as errors:
        reader = SevenZip(program, archive, cancel)
        items = _list(reader, errors, selection, limits)
        objection = limits.objection(
            len(items), sum(item.size for item in items), _packed_size(archive)
        )
        if objection is not None:
            reader.refuse(f"makes {objection}")
        paths = [selection.admit(item.name, item.kind) for item in items]
        with (
            reader.run("x", "-so", errors=errors) as stream,
            ReadAhead(stream.read, reader.end) as ahead,
        ):
            _Unpacking(ahead, reader, writer, selection).run(items, paths)
            reader.finish("is damaged")


def _packed_size(archive: Path) -> int:
    """Bytes of the archive, or of all its parts."""
    parts = [archive]
    if archive.suffix == ".001":
        while (more := archive.with_suffix(f".{len(parts) + 1:03}")).is_file():
            parts.append(more)
    return sum(part.stat().st_size for part in parts)


# The listing


def _list(
    reader: SevenZip, errors: IO[bytes], selection: Selection, limits: UnpackLimits
) -> list[_Item]:
    items: list[_Item] = []
    with reader.run("l", "-slt", errors=errors) as stream:
        for record in _records(stream, reader):
            if len(items) == limits.files:
                reader.refuse(f"has more than {limits.files} members")
            items.append(_item(record, reader, selection))
        reader.finish("cannot be listed")
    return items


def _records(stream: IO[bytes], reader: SevenZip) -> Iterator[dict[str, str]]:
    record: dict[str, str] = {}
    listing = False
    for line in _lines(stream, reader):
        if not listing:
            listing = line == _RULE
        elif not line:
            if record:
                yield record
            record = {}
        else:
            key, _, value = line.decode("utf-8", "replace").partition(" =")
            record[key] = value.removeprefix(" ")
    if record:
        yield record


def _lines(stream: IO[bytes], reader: SevenZip) -> Iterable[bytes]:
    while line := stream.readline(_LONGEST_LINE):
        if not line.endswith(b"\n"):
            reader.refuse("has a name of absurd length")
        yield line.rstrip(b"\r\n")


def _item(record: dict[str, str], reader: SevenZip, selection: Selection) -> _Item:
    name = record.get("Path")
    if name is None:
        reader.refuse("cannot be listed")
    if "\ufffd" in name:
        selection.refuse(name, "has a name that is not Unicode")
    if record.get("Encrypted") == "+":
        selection.refuse(name, "is encrypted")
    if record.get("Anti") == "+":
        selection.refuse(name, "says that something shall be deleted")
    if _memory(record.get("Method", "")) > _MOST_MEMORY:
        selection.refuse(name, f"takes too much memory to unpack ({record['Method']})")
    size, crc = record.get("Size", ""), record.get("CRC", "")
    kind, mode = _kind(name, record.get("Attributes", ""), selection)
    if not size.isdecimal() or (int(size) and not re.fullmatch("[0-9A-F]{8}", crc)):
        selection.refuse(name, "has no size or no checksum")
    if kind == "directory" and int(size):
        selection.refuse(name, "is a directory with contents")
    if kind == "link" and int(size) > _LONGEST_LINK:
        selection.refuse(name, "is a link with too long a target")
    return _Item(name, kind, int(size), int(crc or "0", 16), mode)


def _kind(name: str, attributes: str, selection: Selection) -> tuple[MemberKind, int]:
    found = _MODE.search(attributes)
    letters = attributes[: found.start()] if found else attributes
    form = found[1] if found else "-"
    if "L" in letters and form != "l":
        selection.refuse(name, "is a link of Windows")
    if form == "l":
        return "link", 0
    if form == "d" or "D" in letters:
        return "directory", 0
    if form != "-":
        selection.refuse(name, "is neither a file, a directory nor a link")
    return "file", 0o111 if found is not None and set(found[2][2::3]) & set("xst") else 0


def _memory(method: str) -> int:
    """Bytes that a method needs at most, by its parameters."""
    most = 0
    for number, unit in _MEMORY.findall(method):
        value = int(number)
        most = max(most, value << _UNITS[unit] if unit else 1 << min(value, 64))
    return most


# The contents


class _Unpacking:
    def __init__(
        self, stream: ReadAhead, reader: SevenZip, writer: TreeWriter, selection: Selection
    ) -> None:
        self._stream = stream
        self._reader = reader
        self._writer = writer
        self._selection = selection

    def run(self, items: list[_Item], paths: list[str | None]) -> None:
        links: list[tuple[str, str]] = []
        files = 0
        for item, path in zip(items, paths, strict=True):
            if path is None:
                for _ in self._contents(item):
                    pass
            elif item.kind == "directory":
                self._writer.directory(path)
            elif item.kind == "link":
                self._writer.directory(path.rpartition("/")[0])
                links.append((path, self._target(item, path)))
            else:
                files += 1
                self._writer.directory(path.rpartition("/")[0])
                executable = self._selection.executable(path, item.mode)
                self._writer.file(path, self._contents(item), executable=executable)
        if self._stream.read(1):
            self._reader.refuse("holds more than it says")
        # Last, so that nothing can be written through a link.
        for path, target in links:
            self._writer.symbolic_link(path, target)
        self._writer.count = files + len(links)

    def _target(self, item: _Item, path: str) -> str:
        data = b"".join(self._contents(item))
        try:
            target = data.decode()
        except UnicodeDecodeError:
            self._selection.refuse(item.name, "is a link in an unknown encoding")
        self._selection.check_link(item.name, path, target)
        return target

    def _contents(self, item: _Item) -> Iterator[bytes]:
        left, crc = item.size, 0
        while left:
            data = self._stream.read(min(left, _CHUNK))
            if not data:
                self._reader.refuse(f"is damaged; it ends in {item.name!r}")
            left -= len(data)
            crc = zlib.crc32(data, crc)
            yield data
        if crc != item.crc:
            self._selection.refuse(item.name, "is damaged (its checksum differs)")
