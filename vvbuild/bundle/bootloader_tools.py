"""What waf needs around it: a directory that it understands, and programs to call."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vvbuild.bundle import waf_cc
from vvbuild.errors import BootloaderError
from vvbuild.runtime.files import remove_tree

_PLAIN = re.compile(r"[A-Za-z0-9_./\\:~+@-]+")


@dataclass(frozen=True, slots=True)
class Tools:
    """Programs made for one build: the compiler, and one that does nothing."""

    compiler: Path
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


def write_tools(
    folder: Path, *, python: Path, zig: Path, target: str, replaced: Mapping[str, str]
) -> Tools:
    """Write the programs that waf calls: one file each, since waf passes no arguments to them.

    Raises :class:`BootloaderError` where ``zig`` cannot be started: waf would hide that.
    """
    if not os.access(zig, os.X_OK) or zig.is_dir():
        raise BootloaderError("zig cannot be started.", context={"zig": zig})
    folder.mkdir(parents=True)
    wrapper = folder / "waf_cc.py"
    shutil.copyfile(waf_cc.__file__, wrapper)
    settings = {"zig": str(zig.resolve()), "target": target, "replaced": dict(replaced)}
    wrapper.with_suffix(".json").write_text(json.dumps(settings), "utf-8")
    # -I -S: neither the user's environment nor site-packages decide what the compiler does.
    words = [str(python), "-I", "-S", "-X", "utf8", str(wrapper)]
    if os.name == "nt":
        compiler = _script(folder / "cc.cmd", f"@{subprocess.list2cmdline(words)} %*\r\n")
        return Tools(compiler, _script(folder / "nothing.cmd", "@exit /b 0\r\n"))
    compiler = _script(folder / "cc", f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    return Tools(compiler, _script(folder / "nothing", "#!/bin/sh\nexit 0\n"))


def _script(path: Path, text: str) -> Path:
    path.write_bytes(os.fsencode(text))
    path.chmod(0o755)
    return path
