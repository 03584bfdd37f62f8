"""A zip that is written from its first byte to its last, without going back."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vvbuild.bundle.archive.tree import unix_mode
from vvbuild.bundle.archive.zip_records import (
    DEFLATED,
    STORED,
    Limits,
    Member,
    central_header,
    descriptor,
    dos_stamp,
    end_records,
    local_header,
)
from vvbuild.model.tree import Entry


class ZipStream:
    """Writes members one after the other through ``write``, all with the time ``epoch``."""

    def __init__(
        self, write: Callable[[bytes | bytearray], int], epoch: int, limits: Limits
    ) -> None:
        self._sink = write
        self._stamp = dos_stamp(epoch)
        self._limits = limits
        self._members: list[Member] = []
        self._position = 0
        self._begun: Member | None = None
        self._data_start = 0

    def add(self, entry: Entry, method: int, crc: int, data: bytes | bytearray) -> None:
        """Append a member whose packed data is at hand."""
        # A link has its target for content, and its entry no size.
        size = len(data) if method == STORED else entry.size
        self._header(self._member(entry, method, crc, len(data), size))
        self._write(data)

    def store(self, entry: Entry, crc: int, content: Iterable[bytes]) -> None:
        """Append a file as it is."""
        self._header(self._member(entry, STORED, crc, entry.size, entry.size))
        for data in content:
            self._write(data)

    def begin(self, entry: Entry) -> None:
        """Start a deflated member whose pieces follow; its sizes go behind them."""
        self._begun = self._member(entry, DEFLATED, 0, 0, entry.size, streamed=True)
        self._write(local_header(self._begun, self._stamp, self._limits))
        self._data_start = self._position

    def extend(self, data: bytes | bytearray) -> None:
        """Append a piece to the member that was begun."""
        self._write(data)

    def end(self, crc: int) -> None:
        """Finish the member that was begun; ``crc`` is that of its content."""
        assert self._begun is not None
        member = self._begun.finished(crc, self._position - self._data_start)
        self._write(descriptor(member, self._limits))
        self._members.append(member)
        self._begun = None

    def finish(self) -> None:
        """Write the directory of members."""
        start = self._position
        for member in self._members:
            self._write(central_header(member, self._stamp, self._limits))
        length = self._position - start
        self._write(end_records(len(self._members), start, length, self._limits))

    def _member(
        self, entry: Entry, method: int, crc: int, packed: int, size: int, *, streamed: bool = False
    ) -> Member:
        name = f"{entry.path}/" if entry.kind == "directory" else entry.path
        return Member(
            name.encode(), unix_mode(entry), method, crc, packed, size, self._position, streamed
        )

    def _header(self, member: Member) -> None:
        self._write(local_header(member, self._stamp, self._limits))
        self._members.append(member)

    def _write(self, data: bytes | bytearray) -> None:
        self._position += self._sink(data)
