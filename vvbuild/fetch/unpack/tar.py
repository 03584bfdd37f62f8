"""Tars, plain or gzipped, onto disk."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from vvbuild.binary.archives.kinds import Kind
from vvbuild.binary.archives.limits import UnpackLimits
from vvbuild.binary.archives.packed import Readable, unpacked
from vvbuild.errors import HostileArchiveError
from vvbuild.fetch.unpack.names import Selection
from vvbuild.fetch.unpack.writer import TreeWriter
from vvbuild.runtime.cancel import Cancel

_CHUNK = 1 << 20
_LONGEST_HEADER = 1 << 20
_EXTENSIONS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_DAMAGE = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, RecursionError)


class _Member(tarfile.TarInfo):
    """A header that is well-formed and does not make the reader hold a huge name in memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        try:
            member = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if len(buf) == tarfile.BLOCKSIZE and not any(buf):
                # The end, as it should be. At anything else the reader would stop in silence.
                raise
            raise tarfile.ReadError(f"{error} where a member or the end should be") from error
        if member.size < 0 or (member.type in _EXTENSIONS and member.size > _LONGEST_HEADER):
            raise tarfile.ReadError("a header of absurd size")
        return member


def unpack_tar(
    archive: Path,
    kind: Kind,
    writer: TreeWriter,
    selection: Selection,
    limits: UnpackLimits,
    cancel: Cancel,
    seven_zip: Path | None = None,
) -> None:
    """Write a tar's wanted members. Raises :class:`HostileArchiveError`."""
    size = archive.stat().st_size
    try:
        with unpacked(archive, kind, cancel, seven_zip) as plain:
            stream = _Metered(plain, archive.name, size, limits, cancel)
            with tarfile.open(  # type: ignore[call-overload]
                fileobj=stream, mode="r|", bufsize=_CHUNK, tarinfo=_Member,
                encoding="utf-8", errors="strict",
            ) as tar:  # fmt: skip
                _Unpacking(tar, writer, selection, limits).run(size)
            # The rest holds the packer's checksum.
            while stream.read(_CHUNK):
                pass
    except _DAMAGE as error:
        raise HostileArchiveError(
            f"{archive.name} is damaged, or not a tar: {error}.", context={"archive": archive}
        ) from error


class _Metered:
    """A reader that stops a bomb however it is wrapped, padding and skipped members included."""

    def __init__(
        self,
        stream: Readable,
        name: str,
        packed: int,
        limits: UnpackLimits,
        cancel: Cancel,
    ) -> None:
        self._stream = stream
        self._name = name
        self._packed = packed
        self._limits = limits
        self._cancel = cancel
        self._done = 0

    def read(self, size: int) -> bytes:
        self._cancel.check()
        data = self._stream.read(size)
        self._done += len(data)
        # Each member brings up to three blocks of 512 bytes of its own.
        members = self._limits.files * 1536
        objection = self._limits.objection(0, max(0, self._done - members), self._packed)
        if objection is not None:
            raise HostileArchiveError(f"{self._name} must not be unpacked: it makes {objection}.")
        return data


class _Unpacking:
    def __init__(
        self, tar: tarfile.TarFile, writer: TreeWriter, selection: Selection, limits: UnpackLimits
    ) -> None:
        self._tar = tar
        self._writer = writer
        self._selection = selection
        self._limits = limits
        self._written: dict[str, str] = {}
        self._links: list[tuple[str, str]] = []

    def run(self, packed: int) -> None:
        members = unpacked = 0
        for member in self._tar:
            members, unpacked = members + 1, unpacked + member.size
            objection = self._limits.objection(members, unpacked, packed)
            if objection is not None:
                self._selection.refuse(member.name, f"makes it {objection}")
            if member.size < 0:
                self._selection.refuse(member.name, "has a negative size")
            self._take(member)
            # The reader would keep every header until the end.
            self._tar.members.clear()  # type: ignore[attr-defined]
        # Last, so that nothing can be written through a link.
        for path, target in self._links:
            self._writer.symbolic_link(path, target)
        self._writer.count = len(self._written) + len(self._links)

    def _take(self, member: tarfile.TarInfo) -> None:
        if member.issparse():
            self._selection.refuse(member.name, "is a sparse file")
        if member.isdir():
            path = self._selection.admit(member.name, "directory")
            if path is not None:
                self._writer.directory(path)
        elif member.type in _REGULAR:
            self._take_file(member)
        elif member.issym():
            self._take_symbolic_link(member)
        elif member.islnk():
            self._take_hard_link(member)
        else:
            self._selection.refuse(member.name, "is neither a file, a directory nor a link")

    def _take_file(self, member: tarfile.TarInfo) -> None:
        path = self._selection.admit(member.name, "file")
        if path is None:
            return
        self._writer.directory(path.rpartition("/")[0])
        executable = self._selection.executable(path, member.mode)
        self._writer.file(path, self._contents(member), executable=executable)
        self._written[_key(member.name)] = path

    def _contents(self, member: tarfile.TarInfo) -> Iterator[bytes]:
        stream = self._tar.extractfile(member)
        assert stream is not None
        left = member.size
        while left:
            data = stream.read(min(left, _CHUNK))
            if not data:
                raise tarfile.ReadError("it ends early")
            left -= len(data)
            yield data

    def _take_symbolic_link(self, member: tarfile.TarInfo) -> None:
        path = self._selection.admit(member.name, "link")
        if path is None:
            return
        self._selection.check_link(member.name, path, member.linkname)
        self._writer.directory(path.rpartition("/")[0])
        self._links.append((path, member.linkname))

    def _take_hard_link(self, member: tarfile.TarInfo) -> None:
        path = self._selection.admit(member.name, "file")
        if path is None:
            return
        earlier = self._written.get(_key(member.linkname))
        if earlier is None:
            self._selection.refuse(
                member.name, f"is a hard link to {member.linkname!r}, which is no earlier file"
            )
        self._writer.directory(path.rpartition("/")[0])
        self._writer.hard_link(path, earlier)
        self._written[_key(member.name)] = path


def _key(name: str) -> str:
    return name.removeprefix("./")
