"""The C compiler that waf sees, told in words that the real one knows.

Runs as a program of its own in a bare interpreter, so it imports nothing of vvbuild. It reads
``waf_cc.json`` beside itself: the ``command`` of the compiler, ``replaced``: for each argument
that waf passes and the compiler refuses or ignores, what to pass instead (nothing, if empty), and
``preprocessor``: for each word of the command, what stands for it when only preprocessing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def compiler_command(settings: Mapping[str, Any], arguments: Sequence[str]) -> list[str]:
    """The command that stands for a call of the compiler by waf."""
    command: Sequence[str] = settings["command"]
    if "-E" in arguments:
        command = [settings["preprocessor"].get(word, word) for word in command]
    replaced: Mapping[str, str] = settings["replaced"]
    words = [replaced.get(word, word) for word in arguments]
    return [*command, *filter(None, words)]


def main() -> int:
    """Become the compiler; on Windows, which has no exec, wait for it."""
    settings = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    command = compiler_command(settings, sys.argv[1:])
    if os.name != "nt":
        os.execv(command[0], command)  # noqa: S606 - no shell is what we want
    return subprocess.call(command)


if __name__ == "__main__":
    sys.exit(main())
