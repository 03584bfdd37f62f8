"""How many connections there may be."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PiecePolicy:
    """When a file comes over several connections, and over how many.

    Files below ``least`` bytes never do. A ``piece`` is so big that the wait for an answer
    weighs little, and so small that the file grows nearly in order and can be hashed meanwhile.
    ``most`` connections serve one file; more get a client refused by many servers. When all
    transfers together bring ``enough`` bytes a second, no connection is added: it would only
    compete for this machine.
    """

    least: int = 32 << 20
    piece: int = 16 << 20
    most: int = 8
    enough: float = 200 * (1 << 20)


class Lanes:
    """The connections of all transfers together; ``used`` are open.

    Each file has one of its own. Only ``extra`` more may be opened beside those, for pieces.
    """

    def __init__(self, extra: int) -> None:
        self._extra = extra
        self._lock = threading.Lock()
        self.used = 0

    @contextmanager
    def own(self) -> Iterator[None]:
        """The connection that a file always has."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def enter(self) -> bool:
        """Take one more, if there may be one."""
        with self._lock:
            if not self._extra:
                return False
            self._extra -= 1
            self.used += 1
            return True

    def leave(self) -> None:
        """Give that one back."""
        with self._lock:
            self._extra += 1
            self.used -= 1

    def _count(self, change: int) -> None:
        with self._lock:
            self.used += change
