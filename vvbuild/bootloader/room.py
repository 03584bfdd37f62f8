"""What waf needs around it: a directory that it understands, and programs to call."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vvbuild.bootloader import waf_cc
from vvbuild.bootloader.compilers import Compiler
from vvbuild.errors import BootloaderError
from vvbuild.runtime.files import remove_tree

_PLAIN = re.compile(r"[A-Za-z0-9_./\\:~+@-]+")


@dataclass(frozen=True, slots=True)
class Tools:
    """Programs made for one build: the compiler, its ``ar``, and one that does nothing."""

    compiler: Path
    archiver: Path
    nothing: Path


@contextmanager
def plain_directory(work: Path) -> Iterator[Path]:
    """A private directory with a plain ASCII path, gone afterwards.

    waf splits the names of tools at spaces, and some of its versions cannot print Japanese. The
    directory lies in ``work`` where that has such a path, else where the system keeps its
    temporary files. Raises :class:`BootloaderError` if neither will do.
    """
    work.mkdir(parents=True, exist_ok=True)
    usable = (base for base in _bases(work) if _PLAIN.fullmatch(str(base)))
    base = next(usable, None)
    if base is None:
        raise BootloaderError(
            "The bootloader must be built in a directory whose path is plain ASCII.",
            context={"work": work, "temporary files": tempfile.gettempdir()},
            hint="Set TMPDIR (on Windows: TMP) to a directory such as /tmp or C:\\tmp.",
        )
    room = Path(tempfile.mkdtemp(prefix="bootloader-", dir=base))
    try:
        yield room
    finally:
        remove_tree(room)


def _bases(work: Path) -> Iterator[Path]:
    yield work.resolve()
    yield Path(tempfile.gettempdir()).resolve()
    yield from (path for path in (Path("/tmp"), Path("/var/tmp")) if os.access(path, os.W_OK))  # noqa: S108


def write_tools(folder: Path, *, python: Path, compiler: Compiler) -> Tools:
    """Write the programs that waf calls: one file each, since waf passes no arguments to them."""
    folder.mkdir(parents=True)
    wrapper = folder / "waf_cc.py"
    shutil.copyfile(waf_cc.__file__, wrapper)
    settings = {
        "command": compiler.command,
        "replaced": dict(compiler.replaced),
        "preprocessor": dict(compiler.preprocessor),
    }
    wrapper.with_suffix(".json").write_text(json.dumps(settings), "utf-8")
    # -I -S: neither the user's environment nor site-packages decide what the compiler does.
    words = [str(python), "-I", "-S", "-X", "utf8", str(wrapper)]
    if os.name == "nt":
        lines = (subprocess.list2cmdline(each) for each in (words, compiler.archiver))
        script, archiver = (f"@{line} %*\r\n" for line in lines)
        return Tools(
            _script(folder / "cc.cmd", script),
            _script(folder / "ar.cmd", archiver),
            _script(folder / "nothing.cmd", "@exit /b 0\r\n"),
        )
    if not compiler.replaced:
        # Nothing to be told in other words: no interpreter for every file.
        words = list(compiler.command)
    return Tools(
        _script(folder / "cc", f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'),
        _script(folder / "ar", f'#!/bin/sh\nexec {shlex.join(compiler.archiver)} "$@"\n'),
        _script(folder / "nothing", "#!/bin/sh\nexit 0\n"),
    )


def _script(path: Path, text: str) -> Path:
    path.write_bytes(os.fsencode(text))
    path.chmod(0o755)
    return path
