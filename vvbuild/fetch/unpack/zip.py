"""Zips and wheels onto disk."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from vvbuild.binary.archives.limits import UnpackLimits
from vvbuild.binary.archives.zip_contents import DEFLATED, STORED, ZipContents, link_text
from vvbuild.binary.archives.zip_index import ENCRYPTED, Member, ZipError, read_index
from vvbuild.errors import HostileArchiveError
from vvbuild.fetch.unpack.names import MemberKind, Selection
from vvbuild.fetch.unpack.writer import TreeWriter
from vvbuild.runtime.cancel import Cancel

_LONGEST_LINK = 4096
_MOST_THREADS = 4
_BATCH = 16
_STRONG_ENCRYPTION, _MASKED = 0x40, 0x2000


class _Wanted(NamedTuple):
    member: Member
    path: str


def unpack_zip(
    archive: Path, writer: TreeWriter, selection: Selection, limits: UnpackLimits, cancel: Cancel
) -> None:
    """Write a zip's wanted members. Raises :class:`HostileArchiveError`."""
    with archive.open("rb", buffering=0) as stream:
        try:
            _unpack(stream, writer, selection, limits, cancel)
        except ZipError as error:
            if error.member is not None:
                selection.refuse(error.member, error.what)
            raise HostileArchiveError(
                f"{archive.name} must not be unpacked: {error.what}.", context={"archive": archive}
            ) from None


def _unpack(
    stream: BinaryIO, writer: TreeWriter, selection: Selection, limits: UnpackLimits, cancel: Cancel
) -> None:
    packed = os.fstat(stream.fileno()).st_size
    members = read_index(stream, packed, limits.files)
    objection = limits.objection(len(members), sum(member.size for member in members), packed)
    if objection is not None:
        raise ZipError(f"it makes {objection}")
    source = ZipContents(stream)
    files, links = _sort_out(members, writer, selection)
    _write_files(source, files, writer, selection, cancel)
    for member, path in links:
        target = link_text(b"".join(source.contents(member, cancel)), member)
        selection.check_link(member.name, path, target)
        writer.symbolic_link(path, target)
    writer.count = len(files) + len(links)


def _sort_out(
    members: list[Member], writer: TreeWriter, selection: Selection
) -> tuple[list[_Wanted], list[_Wanted]]:
    """Judge every member, make the directories, and return the files and the links."""
    files: list[_Wanted] = []
    links: list[_Wanted] = []
    for member in members:
        kind = _kind(member)
        path = selection.admit(member.name, kind)
        if path is None:
            continue
        if kind == "directory":
            writer.directory(path)
            continue
        writer.directory(path.rpartition("/")[0])
        (links if kind == "link" else files).append(_Wanted(member, path))
    return files, links


def _kind(member: Member) -> MemberKind:
    if member.flags & (ENCRYPTED | _STRONG_ENCRYPTION | _MASKED):
        raise ZipError("is encrypted", member.name)
    if member.method not in (STORED, DEFLATED):
        raise ZipError(f"is packed by method {member.method}, not by deflate", member.name)
    if member.method == STORED and member.packed != member.size:
        raise ZipError("is stored with two sizes", member.name)
    form = stat.S_IFMT(member.mode)
    if member.is_directory:
        if member.size or form not in (0, stat.S_IFDIR, stat.S_IFREG):
            raise ZipError("is a directory with contents", member.name)
        return "directory"
    if form == stat.S_IFLNK:
        if member.size > _LONGEST_LINK:
            raise ZipError("is a link with too long a target", member.name)
        return "link"
    if form not in (0, stat.S_IFREG):
        raise ZipError("is neither a file, a directory nor a link", member.name)
    return "file"


def _write_files(
    source: ZipContents,
    files: list[_Wanted],
    writer: TreeWriter,
    selection: Selection,
    cancel: Cancel,
) -> None:
    def write(wanted: _Wanted) -> None:
        cancel.check()
        executable = selection.executable(wanted.path, wanted.member.mode)
        writer.file(wanted.path, source.contents(wanted.member, cancel), executable=executable)

    # The largest come first, so that none is left alone at the end.
    _share_out(sorted(files, key=lambda wanted: wanted.member.size, reverse=True), write)


def _share_out(files: list[_Wanted], write: Callable[[_Wanted], None]) -> None:
    """Write files by several threads: inflating and writing let other threads run."""
    queue, lock, failed = iter(files), threading.Lock(), threading.Event()

    def work() -> None:
        try:
            while not failed.is_set():
                with lock:
                    batch = list(islice(queue, _BATCH))
                if not batch:
                    return
                for wanted in batch:
                    write(wanted)
        except BaseException:
            failed.set()
            raise

    workers = min(_MOST_THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(workers, "vvbuild-unpack") as pool:
        outcomes = [pool.submit(work) for _ in range(workers)]
    for outcome in outcomes:
        outcome.result()
