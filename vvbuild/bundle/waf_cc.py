"""The C compiler that waf sees: ``zig cc`` for one target, told in words that zig knows.

Runs as a program of its own in a bare interpreter, so it imports nothing of vvbuild. It reads
``waf_cc.json`` beside itself: the path of ``zig``, the ``target``, and ``replaced``: for each
argument that waf passes and zig refuses or ignores, what to pass instead (nothing, if empty).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_VERSION_IN_TARGET = re.compile(r"\.[0-9.]+")


def compiler_command(settings: Mapping[str, Any], arguments: Sequence[str]) -> list[str]:
    """The command that stands for a call of the compiler by waf."""
    target: str = settings["target"]
    if "-E" in arguments:
        # zig hands a run of the preprocessor to clang as it is, and clang knows no glibc version
        # in a target ("version '.2.17' in target triple … is invalid").
        target = _VERSION_IN_TARGET.sub("", target)
    replaced: Mapping[str, str] = settings["replaced"]
    words = [replaced.get(word, word) for word in arguments]
    return [settings["zig"], "cc", "-target", target, *filter(None, words)]


def main() -> int:
    """Become the compiler; on Windows, which has no exec, wait for it."""
    settings = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    command = compiler_command(settings, sys.argv[1:])
    if os.name != "nt":
        os.execv(command[0], command)  # noqa: S606 - no shell is what we want
    return subprocess.call(command)


if __name__ == "__main__":
    sys.exit(main())
