"""Write a bundle as ``.7z.001`` … with the pinned 7-Zip.

7-Zip's bytes follow from the tree, its times and modes, the level and the number of threads;
neither the order in which a directory lists its files nor the number of processors matters
(seen with 26.03 at levels 1, 5 and 9, also on one processor). So the tree is staged with one
time and two modes, and all switches are fixed.

``-r`` is never given: with it, 7-Zip also packs every directory of the same name further down.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from vvbuild.bundle.archive.names import (
    VOLUME_SIZE,
    ArchiveFile,
    check_stem,
    check_volume_size,
    seven_zip_part_name,
)
from vvbuild.bundle.archive.stage import stage
from vvbuild.bundle.archive.tree import scan
from vvbuild.errors import ExternalError
from vvbuild.model.events import Emit, Progress, silent
from vvbuild.model.size import ByteSize
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file, remove_tree
from vvbuild.runtime.process import clean_environment, end_group, start

LEVEL = 5

# Part of the bytes: at level 1, one thread gives others than two.
_THREADS = 2
# Where a line or, after backspaces, a percentage begins; a file may be called "90%".
_PERCENT = re.compile(rb"(?:^|[\b\r\n])\s*(\d{1,3})%")
_TAIL = 4096


def write_7z(
    *,
    program: Path,
    tree: Path,
    top: str,
    stem: str,
    directory: Path,
    work: Path,
    epoch: int,
    cancel: Cancel,
    level: int = LEVEL,
    volume_size: int = VOLUME_SIZE,
    emit: Emit = silent,
) -> tuple[ArchiveFile, ...]:
    """Pack the bundle at ``tree`` under the folder ``top`` into ``directory``; returns the parts.

    ``program`` is 7-Zip (``7zz``, ``7z.exe``), ``level`` its ``-mx`` (0 … 9), ``epoch`` every
    time in seconds since 1970. The tree is copied to a directory in ``work`` first and may take
    its size there once more. Raises :class:`ExternalError` with 7-Zip's last lines if it fails, and
    :class:`UsageError` for a bundle, name or size that cannot be packed. Nothing is left then.
    """
    check_volume_size(volume_size)
    archive = directory.resolve() / f"{check_stem(stem)}.7z"
    private = Path(tempfile.mkdtemp(prefix="7z-", dir=work))
    try:
        stage(scan(tree), tree, private / check_stem(top), epoch, cancel)
        command: list[str | Path] = [
            program, "a", "-t7z", f"-mx={level}", f"-mmt={_THREADS}",
            "-snl",  # links as links
            "-mtm=on", "-mtc=off", "-mta=off",  # of the times, the fixed one only
            f"-v{int(volume_size)}b", "-bsp1", "-bb0", "-y", "--", archive, top,
        ]  # fmt: skip
        _run(command, private, cancel, lambda now: emit(Progress(archive.name, now, 100, "%")))
        return tuple(_parts(directory, stem, cancel))
    except BaseException:
        for path in _written(directory, stem):
            path.unlink()
        raise
    finally:
        remove_tree(private)


def _parts(directory: Path, stem: str, cancel: Cancel) -> list[ArchiveFile]:
    # 7-Zip goes back to the first part in the end, so a part cannot be hashed before that.
    return [
        ArchiveFile(path, ByteSize(path.stat().st_size), hash_file(path, cancel), "7z")
        for path in _written(directory, stem)
    ]


def _written(directory: Path, stem: str) -> list[Path]:
    found: list[Path] = []
    while (path := directory / seven_zip_part_name(stem, len(found) + 1)).exists():
        found.append(path)
    return found


def _run(
    command: list[str | Path], cwd: Path, cancel: Cancel, on_percent: Callable[[int], None]
) -> None:
    """Run 7-Zip, whose progress comes between backspaces and not in lines."""
    process = start(command, cwd=cwd, environment=clean_environment())
    forget = cancel.add(lambda: end_group(process, grace=0))
    output = b""
    percent = 0
    assert process.stdout is not None
    try:
        while data := process.stdout.read1(_TAIL):  # type: ignore[attr-defined]
            output = (output + data)[-_TAIL:]
            for seen in map(int, _PERCENT.findall(data)):
                if seen > percent:
                    percent = seen
                    on_percent(percent)
        status = process.wait()
    finally:
        forget()
        end_group(process, grace=0)
        process.stdout.close()
    cancel.check()
    # 1 is a warning: a file that could not be read is missing from the archive.
    if status != 0:
        raise ExternalError(
            f"7-Zip ended with {status}.",
            context={"command": " ".join(map(str, command)), "last lines": _lines(output)},
        )


def _lines(output: bytes) -> str:
    text = re.sub(r"[\b\r]+", "\n", output.decode("utf-8", "replace"))
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())[-2000:]
