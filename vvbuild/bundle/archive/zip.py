"""Write a bundle as a ``.vvpp``: a zip whose bytes follow from the bundle alone.

The members stand in the order of their names, files at the root, with one time for all, links
stored as links and one of two modes for files. Only directories without anything in them get
a member of their own: the editor's 7-Zip makes the others, and an empty one would be lost.

The compressor is libdeflate in the pinned ``deflate`` package, never the interpreter's zlib,
whose bytes differ from one Python to the next (deflate 0.9.0's wheels for x86-64 and, under
QEMU, aarch64 gave equal bytes at levels 1, 5 to 9 and 12).

Files up to 4 MiB are compressed at once, larger ones in pieces of that size
(:mod:`~vvbuild.bundle.archive.pieces`), so that threads share the work on one big library or
dictionary, memory stays flat however large a file is, and a cancellation waits for no more
than the pieces at work.

A member that deflate leaves at 98 % or more is stored. For a file in pieces, samples decide, as
that must be known before the first piece is written. The sizes of a member in pieces follow its
data (APPNOTE §4.3.9), because what was written is never gone back to.
"""

from __future__ import annotations

import os
from pathlib import Path

from vvbuild.bundle.archive.names import VOLUME_SIZE, check_stem, vvpp_name, vvpp_part_name
from vvbuild.bundle.archive.tree import scan
from vvbuild.bundle.archive.volumes import Volumes, VolumeWriter
from vvbuild.bundle.archive.zip_records import Limits
from vvbuild.bundle.archive.zip_stream import ZipStream
from vvbuild.bundle.archive.zip_work import Copied, Job, Source, Whole, work
from vvbuild.model.events import Emit, Progress, silent
from vvbuild.runtime.cancel import Cancel

# A tree of 249 MB (libraries, Python packages, a dictionary of 103 MB): level 6 takes 9.6 s of
# processor time for 88.1 MiB, 7 takes 10 s for 87.9; 8 and 9 take 17 and 23 s and save nothing.
LEVEL = 7

_MOST_THREADS = 16


def write_vvpp(
    tree: Path,
    directory: Path,
    stem: str,
    *,
    epoch: int,
    cancel: Cancel,
    level: int = LEVEL,
    volume_size: int = VOLUME_SIZE,
    threads: int | None = None,
    emit: Emit = silent,
    limits: Limits | None = None,
) -> Volumes:
    """Pack the bundle at ``tree`` into ``directory``, cut into parts of ``volume_size`` bytes.

    ``epoch`` is every member's time in seconds since 1970, ``level`` libdeflate's (0 … 12);
    ``threads`` defaults to the processors that this process may use and does not change a byte.

    Raises :class:`UsageError` for a bundle, name or size that cannot be packed, and
    :class:`IntegrityError` if a file changes meanwhile. Nothing is left then.
    """

    def name_part(number: int) -> str:
        return vvpp_part_name(stem, number)

    sources = [Source(entry, tree / entry.path) for entry in scan(tree).entries]
    total, done = sum(source.entry.size for source in sources), 0
    jobs = work(sources, level=level, threads=threads or _processors(), cancel=cancel)
    with VolumeWriter(directory, name_part, volume_size, vvpp_name(check_stem(stem))) as out:
        stream = ZipStream(out.write, epoch, limits or Limits())
        try:
            for job in jobs:
                done += _write(stream, job, cancel)
                emit(Progress(vvpp_name(stem), done, total))
        finally:
            jobs.close()
        stream.finish()
        return out.close()


def _write(stream: ZipStream, job: Job, cancel: Cancel) -> int:
    """Write what a job yields; returns how many bytes of the bundle are done by it."""
    cancel.check()
    entry = job.source.entry
    if isinstance(job, Whole):
        packed = job.packed.result()
        stream.add(entry, packed.method, packed.crc, packed.data)
        return entry.size
    if isinstance(job, Copied):
        stream.store(entry, job.crc.result(), job.content(cancel))
        return entry.size
    if job.start == 0:
        stream.begin(entry)
    stream.extend(job.packed.result())
    if job.end == entry.size:
        stream.end(job.crc)
    return job.end - job.start


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), _MOST_THREADS)
    return min(os.cpu_count() or 1, _MOST_THREADS)
