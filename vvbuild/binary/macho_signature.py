"""Code signatures of Mach-O files: what they say, and whether the pages still hash to it.

macOS on Apple's own chips kills a program whose pages do not have the hashes of its signature,
an ad hoc one included. Whoever edits a file (``install_name_tool``, ``strip``, UPX) must sign
again. No certificate is checked here.
Layouts: Apple's ``cs_blobs.h``; every number is big-endian.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from vvbuild.binary.macho_image import LC_CODE_SIGNATURE, Image, is_archive, slices
from vvbuild.binary.source import Malformed, Source, open_source, text

SUPER_BLOB, CODE_DIRECTORY = 0xFADE_0CC0, 0xFADE_0C02
_CODE_DIRECTORY_SLOT, _ALTERNATE_SLOTS, _CMS_SLOT = 0, range(0x1000, 0x1005), 0x1_0000
# Blobs beside the code that are hashed, too, if the signature has them.
_HASHED_SLOTS = {2: "requirements", 5: "entitlements", 7: "DER entitlements"}
_AD_HOC, _RUNTIME, _LINKER_SIGNED = 0x2, 0x1_0000, 0x2_0000
# Type: name of the algorithm, bytes kept of its result.
_HASHES = {1: ("sha1", 20), 2: ("sha256", 32), 3: ("sha256", 20), 4: ("sha384", 48)}
_EMPTY_BLOB = 8
_MOST_BLOBS = 64
_MOST_BLOB_BYTES = 16 << 20
_SMALLEST_PAGE, _LARGEST_PAGE = 9, 24  # as powers of two; 12 and 14 are seen
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class MachOSignature:
    """What a code signature says.

    ``ad_hoc``: nobody's, there are only hashes; ``linker_signed``: made by a linker, which other
    tools may replace; ``hardened``: with the hardened runtime, as notarisation wants it.
    ``certified``: it holds a signature by a certificate. ``hashes`` are the algorithms.
    ``problem`` says why it makes no sense, if so.
    """

    identifier: str | None = None
    team: str | None = None
    ad_hoc: bool = False
    linker_signed: bool = False
    hardened: bool = False
    certified: bool = False
    hashes: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class PageCheck:
    """How the bytes of one slice compare with one list of hashes of its signature.

    ``bad_pages`` are the numbers of the first hundred that differ; ``bad`` counts all of them.
    ``problem`` is another fault of the list: too short, a wrong hash of what is no page.
    """

    slice_index: int
    algorithm: str
    pages: int
    bad: int
    bad_pages: tuple[int, ...]
    problem: str | None

    @property
    def valid(self) -> bool:
        """Whether macOS would run these bytes, as far as hashes go."""
        return not self.bad and self.problem is None


class _Directory(NamedTuple):
    """A CodeDirectory: the hashes of pages, and where they lie in the slice."""

    offset: int
    length: int
    flags: int
    hashes_at: int
    identifier: str
    team: str | None
    specials: int
    pages: int
    limit: int
    algorithm: str
    kept: int
    page: int | None


def read_signature(image: Image) -> MachOSignature | None:
    """What the signature of a slice says, or ``None`` if there is none."""
    if image.find(LC_CODE_SIGNATURE) is None:
        return None
    try:
        blobs = _blobs(image)
        directories = [_directory(image, *blob) for blob in _directory_blobs(blobs)]
    except Malformed as error:
        return MachOSignature(problem=str(error))
    best = directories[-1]
    return MachOSignature(
        identifier=best.identifier,
        team=best.team,
        ad_hoc=bool(best.flags & _AD_HOC),
        linker_signed=bool(best.flags & _LINKER_SIGNED),
        hardened=bool(best.flags & _RUNTIME),
        certified=any(kind == _CMS_SLOT and size > _EMPTY_BLOB for kind, (_, size) in blobs),
        hashes=tuple(directory.algorithm for directory in directories),
    )


def check_pages(path: Path) -> tuple[PageCheck, ...]:
    """Hash every page of a file and compare; one answer for each list of hashes.

    The answer is empty for a file without a signature. It reads the whole file, a chunk at a
    time. Raises :class:`BinaryMalformedError` for a file, or a signature, that makes no sense.
    """
    found: list[PageCheck] = []
    with open_source(path, "Mach-O file") as source:
        for index, part in enumerate(slices(source)):
            if is_archive(part.source):
                continue
            image = Image(part.source)
            if image.find(LC_CODE_SIGNATURE) is not None:
                found += _checks(image, index)
    return tuple(found)


def _checks(image: Image, index: int) -> Iterator[PageCheck]:
    blobs = _blobs(image)
    for blob in _directory_blobs(blobs):
        directory = _directory(image, *blob)
        bad = _bad_pages(image.source, directory)
        yield PageCheck(
            slice_index=index,
            algorithm=directory.algorithm,
            pages=directory.pages,
            bad=len(bad),
            bad_pages=tuple(bad[:100]),
            problem=_coverage(image, directory) or _specials(image.source, directory, blobs),
        )


def _bad_pages(source: Source, directory: _Directory) -> list[int]:
    """The numbers of the pages whose hashes differ."""
    table = source.at(directory.hashes_at, directory.pages * directory.kept, "the page hashes")
    expected = [table[at : at + directory.kept] for at in range(0, len(table), directory.kept)]
    computed = _hashes(source, directory)
    return [number for number, found in enumerate(computed) if found != expected[number]]


def _hashes(source: Source, directory: _Directory) -> Iterator[bytes]:
    algorithm, kept, page = directory.algorithm, directory.kept, directory.page
    if page is None:  # one page, however long
        whole = hashlib.new(algorithm, usedforsecurity=False)
        for chunk in source.chunks(0, directory.limit, "the signed bytes"):
            whole.update(chunk)
        yield whole.digest()[:kept]
        return
    step = max(page, _CHUNK // page * page)
    for chunk in source.chunks(0, directory.limit, "the signed bytes", step):
        for at in range(0, len(chunk), page):
            piece = chunk[at : at + page]
            yield hashlib.new(algorithm, piece, usedforsecurity=False).digest()[:kept]


def _coverage(image: Image, directory: _Directory) -> str | None:
    start, _ = _place(image)
    if directory.limit != start:
        return f"it covers {directory.limit} bytes, but there are {start} before it"
    return None


def _specials(
    source: Source, directory: _Directory, blobs: list[tuple[int, tuple[int, int]]]
) -> str | None:
    """The first blob beside the code that has another hash than it should have."""
    content = dict(blobs)
    for slot, what in _HASHED_SLOTS.items():
        if slot > directory.specials:
            continue
        at = directory.hashes_at - slot * directory.kept
        expected = source.at(at, directory.kept, "a hash")
        if slot in content:
            data = source.at(*content[slot], what)
            found = hashlib.new(directory.algorithm, data, usedforsecurity=False).digest()
            if found[: directory.kept] != expected:
                return f"the hash of the {what} differs"
        elif any(expected):
            return f"the {what} are missing"
    return None


def _place(image: Image) -> tuple[int, int]:
    command = image.find(LC_CODE_SIGNATURE)
    if command is None:
        raise Malformed("there is no signature")
    offset, size = image.fields(command, "II", "a signature's place")
    image.source.check(offset, size, "the signature")
    return offset, size


def _blobs(image: Image) -> list[tuple[int, tuple[int, int]]]:
    """The parts of a signature: slot, offset in the slice and length."""
    start, size = _place(image)
    if size < 12:
        raise Malformed(f"a signature of {size} bytes")
    magic, length, count = struct.unpack(">III", image.source.at(start, 12, "the signature"))
    if magic != SUPER_BLOB or length > size:
        raise Malformed(f"a signature that begins with {magic:#x} and has {length} bytes")
    if count > _MOST_BLOBS or 12 + 8 * count > length:
        raise Malformed(f"a signature of {count} parts")
    found = []
    index = image.source.at(start + 12, 8 * count, "the parts of the signature")
    for slot, offset in struct.iter_unpack(">II", index):
        if offset + 8 > length:
            raise Malformed(f"part {slot:#x} of the signature at {offset:#x} of {length} bytes")
        head = image.source.at(start + offset, 8, "a part of the signature")
        bytes_ = int.from_bytes(head[4:], "big")
        if not 8 <= bytes_ <= min(length - offset, _MOST_BLOB_BYTES):
            raise Malformed(f"part {slot:#x} of the signature has {bytes_} bytes")
        found.append((slot, (start + offset, bytes_)))
    return found


def _directory_blobs(blobs: list[tuple[int, tuple[int, int]]]) -> list[tuple[int, int]]:
    """Where the CodeDirectories are; the best of them, with the strongest hash, comes last."""
    found = dict.fromkeys(
        place for slot, place in blobs if slot == _CODE_DIRECTORY_SLOT or slot in _ALTERNATE_SLOTS
    )
    if len(found) > 1 + len(_ALTERNATE_SLOTS):
        raise Malformed(f"a signature with {len(found)} lists of hashes")
    if not found:
        raise Malformed("a signature without hashes")
    return list(found)


def _directory(image: Image, offset: int, length: int) -> _Directory:
    head = image.source.at(offset, min(length, 96), "a list of hashes").ljust(96, b"\0")
    magic, _, version, flags, hashes, name, specials, pages, limit = struct.unpack_from(">9I", head)
    kept, kind, _, shift = head[36:40]
    if magic != CODE_DIRECTORY or length < 44:
        raise Malformed(f"a list of hashes that begins with {magic:#x}")
    if kind not in _HASHES or kept != _HASHES[kind][1]:
        raise Malformed(f"hashes of type {kind} with {kept} bytes")
    if shift and not _SMALLEST_PAGE <= shift <= _LARGEST_PAGE:
        raise Malformed(f"pages of 2^{shift} bytes")
    team, limit64 = struct.unpack_from(">I4xQ", head, 48)
    limit = limit64 if version >= 0x2_0300 and limit64 else limit
    page = 1 << shift if shift else None
    wanted = (-(-limit // page) if page else 1) if limit else 0
    if pages != wanted:
        raise Malformed(f"{pages} page hashes for {limit} bytes")
    if hashes < 44 + specials * kept or hashes + pages * kept > length:
        raise Malformed(f"page hashes at {hashes:#x} of a list of {length} bytes")
    image.source.check(0, limit, "the signed bytes")
    return _Directory(
        offset, length, flags, offset + hashes, _string(image, offset, length, name),
        _string(image, offset, length, team) if version >= 0x2_0200 and team else None,
        specials, pages, limit, _HASHES[kind][0], kept, page,
    )  # fmt: skip


def _string(image: Image, offset: int, length: int, at: int) -> str:
    if at >= length:
        raise Malformed(f"a name at {at:#x} of a list of {length} bytes")
    return text(image.source.string(offset + at, min(length - at, 1 << 12), "a name"))
