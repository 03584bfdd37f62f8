"""The text that a downloader shows, and whether it is one that was accepted."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from vvbuild.model.digest import Digest

# Control sequences (colours, titles, links) and other control characters but for line ends.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]?"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
# What pagers draw around a text: lines, corners, blocks.
_ORNAMENTS = re.compile("[\u2500-\u259f]")
_MOST_LINES_BEFORE = 8


def refuse(text: str) -> bool:
    """Nobody is there to be asked."""
    del text
    return False


@dataclass(frozen=True)
class Consent:
    """What its giver accepts: ``texts`` that they have seen, or ``digests`` of such.

    ``ask`` is called with any other text, and tells whether its reader accepts it now.
    """

    texts: tuple[str, ...] = ()
    digests: frozenset[Digest] = frozenset()
    ask: Callable[[str], bool] = field(default=refuse)

    def covers(self, shown: str, before: Sequence[re.Pattern[str]]) -> bool:
        """Whether ``shown`` is nothing but accepted texts, each after lines like ``before``."""
        if terms_digest(shown) in self.digests:
            return True
        return _only(shown, [*self.texts], before)


def plain(text: str) -> str:
    """A text without control sequences, with plain line ends."""
    return _ESCAPES.sub("", text.replace("\r\n", "\n")).replace("\r", "\n")


def terms_digest(text: str) -> Digest:
    """The digest of what a text says, however it was coloured, framed, indented or wrapped."""
    return Digest.of_bytes(_essence(text).encode("utf-8", "surrogatepass"))


def _essence(text: str) -> str:
    return "".join(_ORNAMENTS.sub("", plain(text)).split())


def _only(shown: str, texts: Collection[str], before: Sequence[re.Pattern[str]]) -> bool:
    """Read ``shown`` from its end: a text, the lines before it, then another text.

    A clause that somebody adds behind a text is then no line before one, and refused.
    """
    lines = [line for each in plain(shown).split("\n") if (line := _essence(each))]
    raw = [each.strip() for each in plain(shown).split("\n") if _essence(each)]
    wanted = {essence for text in texts if (essence := _essence(text))}
    end = len(lines)
    found = False
    while end:
        start = _start_of_text(lines, end, wanted)
        if start is None:
            break
        found, end = True, start
        end -= _frame(raw[:start], before)
    return found and end == 0


def _start_of_text(lines: list[str], end: int, wanted: Collection[str]) -> int | None:
    """Where the accepted text begins that ends before the line ``end``."""
    joined = ""
    longest = max((len(text) for text in wanted), default=0)
    for start in range(end - 1, -1, -1):
        joined = lines[start] + joined
        if joined in wanted:
            return start
        if len(joined) > longest:
            break
    return None


def _frame(lines: list[str], before: Sequence[re.Pattern[str]]) -> int:
    """How many lines at the end belong to the frame, not to a text."""
    count = 0
    for line in reversed(lines[-_MOST_LINES_BEFORE:]):
        bare = _ORNAMENTS.sub("", line).strip()
        if not any(pattern.fullmatch(bare) for pattern in before):
            break
        count += 1
    return count
