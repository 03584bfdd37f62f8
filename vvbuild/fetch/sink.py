"""Where a download goes: a file and its SHA-256, grown together."""

from __future__ import annotations

import hashlib
from typing import BinaryIO

from vvbuild.errors import from_os_error
from vvbuild.model.digest import Digest

_HEAD = 512


class Sink:
    """A partial file. ``done`` are its bytes, ``reached`` the most it ever had."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self._hash = hashlib.sha256()
        self.head = b""
        self.done = 0
        self.reached = 0

    def write(self, chunk: bytes) -> None:
        """Append bytes. Raises :class:`~vvbuild.errors.ResourceError` when the disk will not."""
        try:
            self._stream.write(chunk)
        except OSError as error:
            raise from_os_error(error, f"write {self._name}") from error
        self._hash.update(chunk)
        if len(self.head) < _HEAD:
            self.head += chunk[: _HEAD - len(self.head)]
        self.done += len(chunk)
        self.reached = max(self.reached, self.done)

    def restart(self) -> None:
        """Forget everything."""
        try:
            self._stream.seek(0)
            self._stream.truncate()
        except OSError as error:
            raise from_os_error(error, f"write {self._name}") from error
        self._hash = hashlib.sha256()
        self.head = b""
        self.done = 0

    @property
    def digest(self) -> Digest:
        """The SHA-256 of what was written since the last restart."""
        return Digest(self._hash.hexdigest())
