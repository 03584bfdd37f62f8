"""Members chosen by globs."""

from __future__ import annotations

import re
from collections.abc import Sequence


class MemberGlobs:
    """Globs over an archive's members, by the name that is left after stripping.

    ``*`` and ``?`` stay within one folder, ``**`` goes through any number of them, and what names
    a folder stands for all below it.
    """

    def __init__(self, globs: Sequence[str]) -> None:
        self._patterns = {glob: _compile(glob) for glob in globs}
        self._used: set[str] = set()
        self.names: list[str] = []

    def match(self, path: str, is_directory: bool) -> bool:
        """Whether a member is wanted; remembers which globs had a use, and all names."""
        if not is_directory:
            self.names.append(path)
        hits = [glob for glob, pattern in self._patterns.items() if pattern.fullmatch(path)]
        self._used.update(hits)
        return bool(hits)

    def unmatched(self) -> list[str]:
        """Globs that no member matched."""
        return [glob for glob in self._patterns if glob not in self._used]


def _compile(glob: str) -> re.Pattern[str]:
    parts = glob.strip("/").split("/")
    text = "".join("(?:[^/]+/)*" if part == "**" else _part(part) + "/" for part in parts[:-1])
    last = ".+" if parts[-1] == "**" else _part(parts[-1])
    return re.compile(f"{text}{last}(?:/.*)?", re.DOTALL)


_PIECE = re.compile(r"\*+|\?|\[!?\]?[^]]*\]|.", re.DOTALL)


def _part(part: str) -> str:
    """A regular expression for one name (the standard library's would cross folders)."""
    return "".join(map(_piece, _PIECE.findall(part)))


def _piece(piece: str) -> str:
    if piece[0] == "*":
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if piece[0] == "[" and len(piece) > 1:
        negated = piece[1] == "!"
        inside = re.sub(r"([\\\[^])", r"\\\1", piece[2 if negated else 1 : -1])
        return f"[{'^/' if negated else ''}{inside}]"
    return re.escape(piece)
