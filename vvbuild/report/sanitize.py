"""The one edge where foreign text becomes output.

Names from archives, servers and other programs may hold escape codes, workflow commands or
text that runs backwards; none of it may act on a terminal or a log.
"""

from __future__ import annotations

import re
import unicodedata

# Cc: control codes; Cf: invisible formatting such as right-to-left override; Cs: lone halves
# of surrogate pairs (undecodable file names); Zl, Zp: separators that break lines.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# A log line with one of these is an instruction to GitHub Actions: its runner looks for `::`
# behind any white space at the start of a line, and for `##[` anywhere.
_COMMAND = re.compile(r"^(\s*):(?=:)")
_OLD_COMMAND = re.compile(r"#(?=#\[)")


def clean(text: str) -> str:
    """One safe line: anything that could act on its reader is shown as an escape."""
    safe = "".join(_escape(character) for character in text)
    return _OLD_COMMAND.sub(r"\\x23", _COMMAND.sub(r"\1\\x3a", safe))


def clean_lines(text: str) -> list[str]:
    """The safe lines of a text."""
    return [clean(line) for line in text.replace("\r\n", "\n").split("\n")]


def _escape(character: str) -> str:
    if character == "\t":
        return "    "
    if unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
